// shardlens: opens the studio, or draws it into a file.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstdlib>

#include "app/command_line/messages.h"
#include "app/command_line/signals.h"
#include "app/command_line/standard_streams.h"
#include "app/studio/frame_benchmark.h"
#include "app/studio/offscreen.h"
#include "app/studio/options.h"
#include "app/studio/start_benchmark.h"
#include "app/studio/video.h"
#include "engine/base/error.h"
#include "engine/device/cpu/allocation.h"
#include "engine/record/gallery.h"
#include "engine/record/recording.h"
#include "engine/runtime/rank_priority.h"
#include "engine/runtime/rank_team.h"
#include "ui/platform/platform.h"
#include "ui/studio.h"

namespace shardlens {
namespace {

void open_window(const Options& options) {
  const bool replays = !options.recording.empty();
  if (replays) Recording{recording_path(options.recording.string())};  // throws before a window opens
  set_beside_a_window(true);
  const std::unique_ptr<Platform> platform = make_window_platform("Shardlens", options.size);
  ui::Studio studio(options.settings, platform->fonts(), ui::default_state_path(),
                    replays ? Session::Begin::WhenAsked : Session::Begin::AtOnce);
  studio.view().said = fmt::format("{}", fmt::join(options.remarks, ". "));
  if (replays) studio.open_recording(options.recording.string());
  apply_looks(options, studio.view());
  bool step_wanted = !options.step.empty() || !options.open.empty();
  double wait_seconds = 0;
  while (!platform->should_close()) {
    platform->begin_frame(wait_seconds);
    for (const std::string& file : platform->take_dropped_files()) studio.open_dropped(file);
    studio.frame();
    if (step_wanted && studio.snapshot().plan) {
      select_wanted(options, studio.snapshot().plan->program, studio.view());
      step_wanted = false;
    }
    platform->render();
    studio.write_picture(*platform);
    platform->present();
    wait_seconds = studio.idle_seconds();
  }
}

void run(const Options& options) {
  for (const std::string& remark : options.remarks) cli::say(remark);
  if (!options.screenshot.empty()) {
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
    open_window(options);
  }
}

int run_program(int count, char** arguments) {
  try {
    if (const auto options = read_options(count, arguments)) run(*options);
    return 0;
  } catch (const std::exception& error) {
    cli::say(error);
    return cli::exit_code_of(error);
  }
}

}  // namespace
}  // namespace shardlens

int main(int count, char** arguments) {
  shardlens::cli::set_program_name("shardlens");
  shardlens::cli::prepare_standard_streams();
  shardlens::cli::end_cleanly_at_signals();
  shardlens::cpu::keep_freed_memory();
  int code = shardlens::run_program(count, arguments);
  std::fflush(stdout);
  if (code == 0 && shardlens::cli::standard_output_failed()) code = shardlens::cli::kFailedRun;
  if (shardlens::abandoned_ranks() == 0) return code;
  std::fflush(nullptr);
  std::_Exit(code);  // no destructors: the thread of a hanging rank may still use the objects
}
