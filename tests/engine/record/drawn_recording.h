// A random recording: passes of random length with random gaps, collectives whose ranks arrive at random
// times, and overlapped steps.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "engine/planner/planner.h"
#include "engine/record/overview.h"
#include "engine/record/recording.h"
#include "tests/engine/small_model.h"

namespace shardlens::testing {

class DrawnRecording {
 public:
  explicit DrawnRecording(unsigned seed, int passes = 7, int tp = 2, int dp = 2)
      : program(plan_program(small_model(tp, dp))), draw_(seed) {
    double begin = between(0, 1e-3);
    for (int i = 0; i < passes; ++i) {
      passes_.push_back(draw_pass(begin));
      begin += seconds_of(passes_.back()) + (draw_() % 2 ? between(0, 5e-3) : 0);
    }
  }

  std::vector<RecordedPass>& passes() { return passes_; }
  int ranks() const { return program.tp() * program.dp(); }

  RecordingHeader header() const { return {"train", "this machine", "local", "", program, {}, {}}; }
  /// Everything, in one go.
  void write(const std::string& path) const {
    RecordingWriter writer(path, header());
    for (const RecordedPass& pass : passes_) writer.offer(pass);
    writer.finish();
  }

  /// Passes `first` to `last`, one a second of the recording, whose loss is their number.
  void offer(RecordingWriter& writer, int64_t first, int64_t last) const {
    for (int64_t number = first; number < last; ++number) {
      RecordedPass pass = passes_[static_cast<size_t>(number) % passes_.size()];
      pass.begin_seconds = static_cast<double>(number);
      pass.metrics = {{"loss", static_cast<double>(number)}};
      writer.offer(std::move(pass));
    }
  }

  /// Pass `pass`, rank `rank`, step `step`, from the beginning of the recording: what the file must say.
  EventTimes event(size_t pass, size_t rank, size_t step) const {
    const StepEvent& event = passes_[pass].events[rank][step];
    return placed({ns(event.begin_seconds), ns(event.end_seconds), ns(event.arrival_seconds),
                   ns(event.all_arrived_seconds)},
                  ns(passes_[pass].begin_seconds));
  }
  static int64_t ns(double seconds) { return std::llround(seconds * 1e9); }

  double between(double low, double high) { return std::uniform_real_distribution<>(low, high)(draw_); }

  const Program program;

 private:
  RecordedPass draw_pass(double begin) {
    RecordedPass pass;
    pass.begin_seconds = begin;
    // As a training of many layers has: what is shown of a pass is found among them.
    for (int layer = 0; layer < 40; ++layer)
      pass.metrics.emplace_back("gradient_norm h." + std::to_string(layer), between(0, 1));
    pass.metrics.emplace_back("loss", between(1, 5));
    for (int rank = 0; rank < ranks(); ++rank) {
      std::vector<StepEvent> track;
      double now = between(0, 1e-4);
      for (const Step& step : program.steps) {
        StepEvent event;
        event.begin_seconds = now;
        event.end_seconds = now + (draw_() % 5 == 0 ? 0 : between(0, 2e-5) * (draw_() % 30 == 0 ? 40 : 1));
        if (is_collective(step.op)) {
          event.arrival_seconds = between(event.begin_seconds, event.end_seconds);
          event.all_arrived_seconds = between(event.arrival_seconds, event.end_seconds);
        }
        if (draw_() % 10 != 0) now = event.end_seconds;  // else the next one goes on beside it
        track.push_back(event);
      }
      pass.events.push_back(std::move(track));
    }
    return pass;
  }

  std::mt19937 draw_;
  std::vector<RecordedPass> passes_;
};

}  // namespace shardlens::testing
