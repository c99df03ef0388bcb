// Makes recordings for tests, and a Replay that shows them on command.
#pragma once

#include <cmath>
#include <memory>
#include <string>

#include "engine/runtime/executor.h"
#include "engine/runtime/recordings/recorder.h"
#include "engine/runtime/recordings/replay.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/small_model.h"

namespace shardlens {

using Shown = std::shared_ptr<const ReplaySnapshot>;

inline constexpr double kTimeoutSeconds = 120;

class ReplayTest : public TestFolder {
 protected:
  // Passes of a small model on 2 x 2 ranks, really run.
  std::string record(const std::string& name, int passes = 4) {
    const std::shared_ptr<const Plan> plan = make_plan(testing::small_model(2, 2));
    Executor executor(plan);
    Recorder recorder(path(name), "train", *plan, executor.communicator());
    for (int pass = 0; pass < passes; ++pass) {
      executor.next_pass();
      executor.start(executor.steps());
      executor.wait();
      recorder.take(executor, {{"loss", 5.0 - pass}, {"gradient_norm", pass == 1 ? INFINITY : 1.5}});
    }
    recorder.finish();
    return path(name);
  }

  // Passes that say they took a step every `step_seconds`, each a second after the one before.
  std::string recorded_by_hand(const std::string& name, int passes, double step_seconds) {
    const Plan plan = *make_plan(testing::small_model(2));
    RecordingHeader header{"step", "a far machine, 8 cores", "nccl", "8 GPUs", plan.program, plan.memory, {}};
    RecordingWriter writer(path(name), header);
    for (int pass = 0; pass < passes; ++pass) {
      RecordedPass made;
      made.begin_seconds = pass;
      for (int rank = 0; rank < 2; ++rank) {
        made.events.emplace_back(plan.program.steps.size());
        for (size_t step = 0; step < made.events.back().size(); ++step) {
          StepEvent& event = made.events.back()[step];
          event.begin_seconds = static_cast<double>(step) * step_seconds;
          event.end_seconds = event.begin_seconds + step_seconds * (rank == 1 ? 1.0 : 0.5);
        }
      }
      writer.offer(std::move(made));
    }
    writer.finish();
    return path(name);
  }

  Shown after(const ReplayCommand& command) {
    replay_.send(command);
    return replay_.wait_until_idle(kTimeoutSeconds);
  }
  Shown opened(const std::string& file) { return after(replay_command::Open{file}); }

  Replay replay_;
};

}  // namespace shardlens
