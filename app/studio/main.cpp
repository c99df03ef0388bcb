// shardlens: opens the studio, or draws it into a file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "app/command_line/messages.h"
#include "app/command_line/out_of_memory.h"
#include "app/command_line/signals.h"
#include "app/command_line/slow_answer.h"
#include "app/command_line/standard_streams.h"
#include "app/studio/frame_benchmark.h"
#include "app/studio/handout.h"
#include "app/studio/offscreen.h"
#include "app/studio/options.h"
#include "app/studio/start_benchmark.h"
#include "app/studio/video.h"
#include "engine/base/error.h"
#include "engine/device/cpu/allocation.h"
#include "engine/device/gpu_environment.h"
#include "engine/lesson/built_in.h"
#include "engine/record/gallery.h"
#include "engine/record/recording.h"
#include "engine/runtime/rank_priority.h"
#include "engine/runtime/rank_team.h"
#include "engine/train/train_snapshot.h"
#include "ui/platform/platform.h"
#include "ui/studio.h"
#include "ui/window_loop.h"

namespace shardlens {
namespace {

constexpr std::chrono::seconds kPatience{4};  // with a display that does not answer

std::unique_ptr<Platform> open_platform(const Options& options) {
  const char* const display = std::getenv("DISPLAY");
  const cli::SlowAnswer slow(
      fmt::format(
          "the display {} has not answered for {} seconds; still waiting. Ctrl+C ends this. Start the "
          "studio where DISPLAY names an X server that answers, or use --screenshot, which needs none",
          display == nullptr ? "" : display, kPatience.count()),
      kPatience);
  return make_window_platform("Shardlens", options.size);
}

/// Ends the studio and says what of a training was saved. Returns false, and says why, if something could not
/// be.
bool end(ui::Studio& studio) {
  const bool trained =
      studio.training().snapshot()->is_active() || studio.training().snapshot()->state == TrainState::Paused;
  studio.end();
  for (const auto& curve : studio.training().snapshot()->curves)
    if (trained && curve->save_problem.empty() && curve->saved_step > 0)
      cli::say(
          fmt::format("step {} of {} is saved in {}", curve->saved_step, curve->name, curve->checkpoint));
  const std::string problem = studio.not_saved();
  if (!problem.empty()) cli::say(problem);
  return problem.empty();
}

/// Returns the exit code.
int open_window(const Options& options) {
  const bool replays = !options.recording.empty();
  if (!options.lesson.empty()) find_lesson(options.lesson);            // throws before a window opens
  if (replays) Recording{recording_path(options.recording.string())};  // throws before a window opens
  set_beside_a_window(true);
  const std::unique_ptr<Platform> platform = open_platform(options);
  const std::atomic<int>& told_to_end = cli::end_in_order_at_signals();
  ui::Studio studio(options.settings, platform->fonts(), ui::default_state_path(),
                    replays ? Session::Begin::WhenAsked : Session::Begin::AtOnce);
  platform->at_lost_display([&studio] {
    end(studio);
    cli::say("the display has gone away, so the studio has ended as if it had been closed");
    std::fflush(nullptr);
    std::_Exit(cli::kFailedRun);  // no destructors: they would use the display
  });
  struct Forget {
    Platform& platform;
    ~Forget() { platform.at_lost_display({}); }
  };
  const Forget before_the_studio_goes{*platform};
  studio.view().said = fmt::format("{}", fmt::join(options.remarks, ". "));
  if (options.shown)
    studio.open_state(*options.shown, options.settings);
  else if (replays)
    studio.open_recording(options.recording.string());
  apply_looks(options, studio.view());
  if (!options.lesson.empty()) studio.open_lesson(options.lesson, options.scene - 1, options.lesson_seed);
  bool step_wanted = !options.step.empty() || !options.open.empty();
  ui::WindowLoop window(*platform, studio, told_to_end);
  while (window.next_frame()) {
    if (!step_wanted || !studio.snapshot().plan) continue;
    select_wanted(options, studio.snapshot().plan->program, studio.view());
    step_wanted = false;
  }
  const bool saved = end(studio);
  if (platform->is_gone()) {
    cli::say("another program has destroyed the window, so the studio has ended as if it had been closed");
    return cli::kFailedRun;
  }
  if (told_to_end != 0) return cli::kStoppedBySignal + told_to_end;
  return saved ? 0 : cli::kFailedRun;
}

/// Returns the exit code.
int run(const Options& options) {
  for (const std::string& remark : options.remarks) cli::say(remark);
  if (!options.handout.empty()) {
    write_handout(options);
  } else if (!options.slides.empty()) {
    write_slides(options);
  } else if (!options.screenshot.empty()) {
    write_screenshot(options);
  } else if (!options.figure.empty()) {
    export_figure(options);
  } else if (!options.video.empty()) {
    write_video(options);
  } else if (!options.views.empty()) {
    write_views(options);
  } else if (options.frame_benchmark) {
    benchmark_frames(options);
  } else if (options.start_benchmark) {
    benchmark_start(options);
  } else {
    return open_window(options);
  }
  return 0;
}

int run_program(int count, char** arguments) {
  try {
    const auto options = read_options(count, arguments);
    return options ? run(*options) : 0;
  } catch (const std::exception& error) {
    cli::say(error);
    return cli::exit_code_of(error);
  }
}

}  // namespace
}  // namespace shardlens

int main(int count, char** arguments) {
  shardlens::prepare_gpu_environment();
  shardlens::cli::set_program_name("shardlens");
  shardlens::cli::prepare_standard_streams();
  shardlens::cli::end_cleanly_at_signals();
  shardlens::cli::explain_lack_of_memory();
  shardlens::cpu::keep_freed_memory();
  int code = shardlens::run_program(count, arguments);
  std::fflush(stdout);
  if (code == 0 && shardlens::cli::standard_output_failed()) code = shardlens::cli::kFailedRun;
  std::fflush(nullptr);
  if (code > shardlens::cli::kStoppedBySignal)
    shardlens::cli::end_by_signal(code - shardlens::cli::kStoppedBySignal);
  if (shardlens::abandoned_threads() == 0) return code;
  std::_Exit(code);  // no destructors: a thread that hangs may still use the objects
}
