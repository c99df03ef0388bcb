// The studio in a browser's page. The page's address says what to open, with the names of the studio's own
// options: page.html?lesson=column-then-row, page.html?model=gpt2&tp=8&view=memory. The page hands them over
// as arguments, so one reader and its messages serve both.
#include <emscripten/emscripten.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "app/command_line/messages.h"
#include "app/studio/options.h"
#include "app/web/browser_files.h"
#include "engine/base/clock.h"
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
#include "ui/platform/page_input.h"
#include "ui/platform/platform.h"
#include "ui/remember/state_file.h"
#include "ui/studio.h"
#include "ui/widgets/tape.h"
#include "ui/window_loop.h"

// Shows a sentence in the page's own letters, in place of the studio.
EM_JS(void, say_in_page, (const char* text), { Module.say(UTF8ToString(text)); });
EM_JS(void, tell_page_of_first_picture, (), { Module.drawn(); });
// What of the address could not be fetched; the caller frees it.
EM_JS(char*, problem_of_page, (), { return stringToNewUTF8(Module.problem); });

namespace shardlens {
namespace {

constexpr double kTurnsSeconds = 0.012;  // of a sixtieth of a second in which no picture is drawn

/// All that lasts as long as the page.
class Page {
 public:
  /// `problem`: with the page's address; empty: there is none.
  Page(Options options, const std::string& problem)
      : options_(std::move(options)),
        platform_(make_window_platform("Shardlens", {})),
        studio_(options_.settings, platform_->fonts(), ui::default_state_path(),
                options_.recording.empty() && options_.lesson.empty() ? Session::Begin::AtOnce
                                                                      : Session::Begin::WhenAsked),
        loop_(*platform_, studio_, told_to_end_),
        step_wanted_(!options_.step.empty() || !options_.open.empty()) {
    files_.begin();
    studio_.view().said = problem.empty() ? fmt::format("{}", fmt::join(options_.remarks, ". ")) : problem;
    if (options_.shown)
      studio_.open_state(*options_.shown, options_.settings);
    else if (!options_.recording.empty())
      studio_.open_recording(options_.recording.string());
    apply_looks(options_, studio_.view());
    if (!options_.lesson.empty())
      studio_.open_lesson(options_.lesson, options_.scene - 1, options_.lesson_seed);
  }

  /// What is shown, for tests and for programs that drive the page. The longest turn is that since the last
  /// call.
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

  /// Every line of text that a frame draws, and a point of it: [["Next", 120, 668], …] in the page's pixels.
  /// For programs that read the page and click on what is written.
  nlohmann::json words() {
    ui::Tape tape;
    ImGui::GetIO().UserData = &tape;
    loop_.next_frame();
    ImGui::GetIO().UserData = nullptr;
    due_seconds_ = 0;  // that frame was drawn on no screen
    const float ratio = platform_->dpi_scale();
    nlohmann::json all = nlohmann::json::array();
    for (const ui::TapeMark& one : tape.marks())
      if (const auto* words = std::get_if<ui::mark::Words>(&one.what))
        all.push_back({words->text, words->at.x / ratio, (words->at.y + words->style.size / 2) / ratio});
    return all;
  }

  /// A browser asks for a picture 60 times a second. One is drawn when something has happened, or is to; else
  /// the time is the workers'.
  void frame() {
    const double now = now_seconds();
    if (now < due_seconds_ && !page_has_input()) {
      take_turns(kTurnsSeconds);
      return;
    }
    draw();
    due_seconds_ = now + studio_.seconds_between_frames();
  }

  void tell(const std::string& words) { studio_.view().said = words; }
  void leave() { files_.keep_now(studio_); }

 private:
  void draw() {
    loop_.next_frame();
    if (!drawn_) tell_page_of_first_picture();
    drawn_ = true;
    try {
      files_.follow(studio_);
    } catch (const std::exception& error) {
      tell(message_of(error));
    }
    if (!step_wanted_ || !studio_.snapshot().plan) return;
    select_wanted(options_, studio_.snapshot().plan->program, studio_.view());
    step_wanted_ = false;
  }

  const Options options_;
  const std::unique_ptr<Platform> platform_;
  std::atomic<int> told_to_end_ = 0;
  ui::Studio studio_;
  ui::WindowLoop loop_;
  BrowserFiles files_;
  bool step_wanted_;
  bool drawn_ = false;
  double due_seconds_ = 0;  ///< when the next picture is due, if there is no input
};

std::unique_ptr<Page> page;

/// Options that can be carried out. Throws an Error if the address asks for something else.
Options options_of_address(int count, char** arguments) {
  std::optional<Options> options = read_options(count, arguments);
  if (!options) throw request_error("it asks for what only the program on a desktop prints");
  if (!options->lesson.empty()) find_lesson(options->lesson);
  if (!options->recording.empty()) Recording{recording_path(options->recording.string())};
  return *std::move(options);
}

/// A wrong address, or one that is older than the page, opens the studio all the same, and it says what was
/// wrong.
void open_page(int count, char** arguments) {
  char* const problem_text = problem_of_page();
  std::string problem = problem_text;
  std::free(problem_text);
  Options options;
  bool is_plain = count == 1;
  try {
    options = options_of_address(count, arguments);
  } catch (const std::exception& error) {
    problem += fmt::format("The page's address cannot be opened, and the studio is as without it: {}",
                           message_of(error));
    options = options_of_address(1, arguments);
    is_plain = true;
  }
  // No run of its own was asked for: one that a single core does in seconds.
  if (is_plain || (!options.shown && (!options.recording.empty() || !options.lesson.empty()))) {
    options.settings.batch = 1;
    options.settings.seq = 64;
  }
  page = std::make_unique<Page>(std::move(options), problem);
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

/// The page may be gone in a moment.
extern "C" EMSCRIPTEN_KEEPALIVE void shardlens_leave() {
  if (shardlens::page) shardlens::page->leave();
}

/// A sentence for the person, from the page's own functions.
extern "C" EMSCRIPTEN_KEEPALIVE void shardlens_told(const char* words) {
  if (shardlens::page) shardlens::page->tell(words);
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
