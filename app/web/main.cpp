// The studio in a browser's page. The page's address says what to open, with the names of the studio's own
// options: page.html?lesson=column-then-row, page.html?model=gpt2&tp=8&view=memory. The page hands them over
// as arguments, so one reader and its messages serve both.
#include <emscripten/emscripten.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui.h>

#include <atomic>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "app/command_line/messages.h"
#include "app/studio/options.h"
#include "engine/base/error.h"
#include "engine/base/worker.h"
#include "engine/io/file_problem.h"
#include "engine/lesson/built_in.h"
#include "engine/lesson/lesson_session.h"
#include "engine/record/gallery.h"
#include "engine/record/recording.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "ui/lesson/lesson_view.h"
#include "ui/platform/platform.h"
#include "ui/remember/state_file.h"
#include "ui/studio.h"
#include "ui/widgets/tape.h"
#include "ui/window_loop.h"

// Shows a sentence in the page's own letters, in place of the studio.
EM_JS(void, say_in_page, (const char* text), { Module.say(UTF8ToString(text)); });
EM_JS(void, tell_page_of_first_picture, (), { Module.drawn(); });

namespace shardlens {
namespace {

/// All that lasts as long as the page.
class Page {
 public:
  explicit Page(Options options)
      : options_(std::move(options)),
        platform_(make_window_platform("Shardlens", {})),
        studio_(options_.settings, platform_->fonts(), ui::default_state_path(),
                options_.recording.empty() ? Session::Begin::AtOnce : Session::Begin::WhenAsked),
        loop_(*platform_, studio_, told_to_end_),
        step_wanted_(!options_.step.empty() || !options_.open.empty()) {
    studio_.view().said = fmt::format("{}", fmt::join(options_.remarks, ". "));
    if (!options_.recording.empty()) studio_.open_recording(options_.recording.string());
    apply_looks(options_, studio_.view());
    if (!options_.lesson.empty())
      studio_.open_lesson(options_.lesson, options_.scene - 1, options_.lesson_seed);
  }

  /// What is shown, for tests and for programs that drive the page. The longest turn is that since the last call.
  nlohmann::json state() {
    const Snapshot& run = studio_.snapshot();
    const ui::ViewState& view = studio_.view();
    const auto lesson = studio_.lesson().snapshot();
    const auto replay = studio_.replay().snapshot();
    nlohmann::json right = nlohmann::json::object();
    for (const auto& [question, marked] : lesson->marked) right[question] = marked.right;
    const LongestTurn longest = take_longest_turn();
    return {{"drawn", drawn_},
            {"run", to_string(run.state)},
            {"tp", run.settings.tp},
            {"agrees", run.result && run.result->parity_summary.agrees},
            {"replays", replay->is_open()},
            {"message", studio_.message()},
            {"view", ui::names_of(view.tab).word},
            {"step", view.selected_step},
            {"zoom", view.stage_zoom},
            {"scene", view.of<ui::LessonView>().scene},
            {"settled", studio_.lesson_is_settled()},
            {"ended", view.of<ui::LessonView>().ended},
            {"answered", lesson->answers.size()},
            {"right", right},
            {"longest_turn", {{"of", longest.what}, {"ms", longest.seconds * 1e3}}}};
  }

  /// Every line of text that a frame draws, and a point of it: [["Next", 120, 668], …] in the page's pixels. For
  /// programs that read the page and click on what is written.
  nlohmann::json words() {
    ui::Tape tape;
    ImGui::GetIO().UserData = &tape;
    loop_.next_frame();
    ImGui::GetIO().UserData = nullptr;
    const float ratio = platform_->dpi_scale();
    nlohmann::json all = nlohmann::json::array();
    for (const ui::TapeMark& one : tape.marks())
      if (const auto* words = std::get_if<ui::mark::Words>(&one.what))
        all.push_back({words->text, words->at.x / ratio, (words->at.y + words->style.size / 2) / ratio});
    return all;
  }

  void frame() {
    loop_.next_frame();
    if (!drawn_) tell_page_of_first_picture();
    drawn_ = true;
    if (!step_wanted_ || !studio_.snapshot().plan) return;
    select_wanted(options_, studio_.snapshot().plan->program, studio_.view());
    step_wanted_ = false;
  }

 private:
  const Options options_;
  const std::unique_ptr<Platform> platform_;
  std::atomic<int> told_to_end_ = 0;
  ui::Studio studio_;
  ui::WindowLoop loop_;
  bool step_wanted_;
  bool drawn_ = false;
};

std::unique_ptr<Page> page;

void open_page(int count, char** arguments) {
  std::optional<Options> options = read_options(count, arguments);
  if (!options) throw request_error("this page's address asks for what only the program on a desktop prints");
  if (!options->lesson.empty()) find_lesson(options->lesson);
  if (!options->recording.empty()) Recording{recording_path(options->recording.string())};
  page = std::make_unique<Page>(*std::move(options));
}

}  // namespace
}  // namespace shardlens

/// A JSON object (Page::state()), valid until the next call.
extern "C" EMSCRIPTEN_KEEPALIVE const char* shardlens_state() {
  static std::string text;
  text = shardlens::page ? shardlens::page->state().dump() : "{}";
  return text.c_str();
}

/// A JSON array (Page::words()), valid until the next call.
extern "C" EMSCRIPTEN_KEEPALIVE const char* shardlens_words() {
  static std::string text;
  text = shardlens::page ? shardlens::page->words().dump() : "[]";
  return text.c_str();
}

int main(int count, char** arguments) {
  shardlens::cli::set_program_name("shardlens");
  try {
    shardlens::open_page(count, arguments);
  } catch (const std::exception& error) {
    say_in_page(shardlens::message_of(error).c_str());
    return 1;
  }
  emscripten_set_main_loop([] { shardlens::page->frame(); }, 0, true);
}
