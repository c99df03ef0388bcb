// The steps that one rank has asked of a device that works behind its calls (engine/device/work_behind.h) and
// that are not known to be done: marked where they begin and end, and looked up later, the oldest first. So a
// rank runs ahead of its device, and the device always has something to do.
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
  /// How far a rank may ask ahead, in calls of ask(), and how many of them stay asked for where it waits
  /// then: enough to keep the device busy, and few enough for CUDA's queue of a thousand launches, of which a
  /// step makes one to three and few make a dozen. A thread that finds that queue full holds up whoever else
  /// asks CUDA, such as who looks after the ranks.
  static constexpr size_t kMost = 64, kStill = 32;

  AskedSteps(const Program& program, WorkBehind& behind);

  /// Before step `at` of a pass: a traced pass sets the marks' clock once, before its first marks.
  void keep_time(StepId at, bool traced);
  /// Asks the device for a step, or, not traced, for steps that run together: `run` does, and returns what is
  /// known of the first. Not traced, one call in many is marked alone.
  void ask(std::span<const Step> steps, bool traced, const std::function<StepEvent()>& run);
  bool empty() const { return asked_.empty(); }
  size_t size() const { return asked_.size(); }

  /// Waits until no more than `left` steps are still asked for, and tells each that it saw done, with its
  /// begin and end on this process's clock. `at` is the step it waits for. Throws a run Error where what was
  /// asked for failed.
  void look_up(size_t left, StepId& at, const std::function<void(StepId, StepEvent)>& done);
  /// The same of steps that were not traced, of which nothing more is known.
  void look_up_untraced(size_t left, StepId& at);
  /// When the device began a step, on this process's clock; waits for it. Any thread.
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
  bool has_clock_ = false;  ///< of the present pass
};

}  // namespace shardlens
