// A studio with an open recording, for tests of what a user sees and does there.
#pragma once

#include <memory>
#include <string>

#include "engine/runtime/executor.h"
#include "engine/runtime/recordings/recorder.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/small_model.h"
#include "tests/ui/studio_harness.h"

namespace shardlens::ui {

inline constexpr double kTimeoutSeconds = 120;
inline constexpr int64_t kPasses = 6;

class ReplayTab : public TestFolder {
 protected:
  // A small model on two ranks, or other settings, really run; its loss falls by one a pass.
  std::string record(const std::string& name = "run.shardlens",
                     const Settings& settings = testing::small_model(2)) {
    const std::shared_ptr<const Plan> plan = make_plan(settings);
    Executor executor(plan);
    Recorder recorder(path(name), "train", *plan, executor.communicator(), {},
                      {.taken = PictureOptions::Taken::All, .extent = 64});
    executor.observe({recorder.pictures()});
    for (int64_t pass = 0; pass < kPasses; ++pass) {
      executor.next_pass();
      executor.start(executor.steps());
      executor.wait();
      recorder.take(
          executor,
          {{"loss", 9.0 - static_cast<double>(pass)}, {"gradient_norm", 1.0}, {"tokens_per_second", 100.0}});
    }
    recorder.finish();
    return path(name);
  }

  /// Draws frames until `is_so` of what the last one showed.
  template <typename Condition>
  static bool drawn_until(StudioHarness& harness, const Condition& is_so) {
    return harness.draw_until([&] { return is_so(harness.studio().replayed()); });
  }
  static bool open(StudioHarness& harness, const std::string& file) {
    harness.wait_until_at_rest();
    harness.studio().open_recording(file);
    return drawn_until(harness, [&](const ReplaySnapshot& replay) {
      return replay.is_open() && replay.recording->path == file && replay.metrics->complete;
    });
  }
  static void settle(StudioHarness& harness) {
    harness.draw_frames(2);
    harness.studio().replay().wait_until_idle(kTimeoutSeconds);
    harness.draw_frames(3);
  }
};

}  // namespace shardlens::ui
