// The steps that one rank has asked of a device that works behind its calls (engine/device/work_behind.h) and
// that are not yet known to be done. Marks show where they begin and end; the rank looks them up later, the
// oldest first. So a rank runs ahead of its device, and the device always has work.
#pragma once

#include <deque>
#include <functional>
#include <span>

#include "engine/comm/comm.h"
#include "engine/device/work_behind.h"
#include "engine/program/program.h"
#include "engine/record/trace.h"

namespace shardlens {

class AskedSteps {
 public:
  /// kMost: how far a rank may ask ahead, in calls of ask(). kStill: how many calls stay asked for when it
  /// then waits. That is enough to keep the device busy, and few enough for CUDA's queue of a thousand
  /// launches: a step makes one to three launches, and few steps make a dozen. A thread that finds that queue
  /// full blocks every other thread that calls CUDA, for example the one that watches the ranks.
  static constexpr size_t kMost = 64, kStill = 32;

  AskedSteps(const Program& program, WorkBehind& behind);

  /// Call it before step `at` of a pass: a traced pass sets the clock of the marks once, before its first
  /// marks.
  void keep_time(StepId at, bool traced);
  /// Asks the device for a step, or, if not traced, for steps that run together: `run` does it and returns
  /// what is known of the first step. If not traced, only one call in many is marked.
  void ask(std::span<const Step> steps, bool traced, const std::function<StepEvent()>& run);
  bool empty() const { return asked_.empty(); }
  size_t size() const { return asked_.size(); }

  /// Waits until at most `left` steps are still asked for. Calls `done` for each step that it saw done, with
  /// its begin and end on this process's clock. `at` becomes the step that it waits for. Throws a run Error
  /// if what was asked for failed.
  void look_up(size_t left, StepId& at, const std::function<void(StepId, StepEvent)>& done);
  /// The same for steps that were not traced; nothing more is known of them.
  void look_up_untraced(size_t left, StepId& at);
  /// Returns when the device began a step, on this process's clock; waits for it. Any thread.
  double began_seconds(StepId step) const;

 private:
  struct Asked {
    StepId first = -1, last = -1;  ///< of the steps
    StepEvent event;
    bool marked = false;
  };

  template <class Wait>
  auto wait_for(const Wait& wait) const;

  WorkBehind& behind_;
  std::deque<Asked> asked_;
  size_t since_mark_ = 0;   ///< calls
  bool has_clock_ = false;  ///< for this pass
};

}  // namespace shardlens
