// The steps that one rank has asked of a device that works behind its calls (engine/device/work_behind.h) and
// that are not yet known to be done. Marks show where they end; the rank looks them up later, the oldest
// first. So a rank runs ahead of its device, and the device always has work.
//
// Every call to the driver takes part of a microsecond from all threads that want it, and a rank that looks
// up asks for nothing meanwhile. So there is one mark a boundary: a step begins where the work before it in
// its order ended, and its time includes the gap between the two. Only work that follows nothing has a mark
// of its own at its begin. A burst of look-ups waits for its last mark, because the marks of an order are
// reached in turn. It also waits for each collective in it, so that a rank that does not come is missed in
// the right one.
//
// A collective beside the steps is asked for right before the step that hides it. That step waits with it for
// the steps before: then the collective, which has priority, begins first, and not when the step's first
// blocks end and make room. It does not wait if an earlier collective may still run, because then this one
// cannot begin yet either.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

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

  /// Hears of the steps [first, last] of one call of ask() that are done, with the begin and end of all of
  /// them together on this process's clock.
  using Done = std::function<void(StepId first, StepId last, const StepEvent& event)>;

  AskedSteps(const Program& program, WorkBehind& behind);

  /// Call it before step `at` of a pass: a traced pass sets the clock of the marks once, before its first
  /// marks.
  void keep_time(StepId at, bool traced);
  /// Asks the device for a step, or for steps that run together: `run` does it and returns what is known of
  /// the first step. If not traced, only one call in many is marked.
  void ask(std::span<const Step> steps, bool traced, const std::function<StepEvent()>& run);
  /// From now on, steps begin after all collectives that were asked for before.
  void join_collectives();
  /// Call it if the device did something else after the last step, or nothing for a while: the next step does
  /// not begin where the last one ended.
  void break_off() { boundary_ = {}; }
  bool empty() const { return asked_.empty(); }
  size_t size() const { return asked_.size(); }

  /// Waits until at most `left` calls are still asked for, and calls `done` for each that it saw done. `at`
  /// becomes the step that it waits for. Throws a run Error if what was asked for failed.
  void look_up(size_t left, StepId& at, const Done& done);
  /// The same for steps that were not traced; nothing more is known of them.
  void look_up_untraced(size_t left, StepId& at);
  /// Returns when the device began a step, on this process's clock; infinity if it has not yet. Any thread.
  double began_seconds(StepId step);

 private:
  struct Asked {
    StepId first = -1, last = -1;  ///< of the steps
    StepEvent event;
    bool marked = false;
    bool meets = false;  ///< a collective
  };
  /// Where a step begins: at the later of two marks. -1: none.
  struct Boundary {
    int32_t last = -1;    ///< of the work before it
    int32_t joined = -1;  ///< of the collectives that it waits for, where they run beside the steps
  };

  template <class Wait>
  void wait_for(const Wait& wait) const;
  void wait_for_first(size_t count, StepId& at);
  Boundary begin_of(const Step& step);
  void mark(size_t slot, WorkOrder order);
  double seconds_of(int32_t slot);

  WorkBehind& behind_;
  std::deque<Asked> asked_;
  size_t since_mark_ = 0;       ///< calls
  bool has_clock_ = false;      ///< for this pass
  Boundary boundary_;           ///< of the next step in the steps' order
  bool joined_ = true;          ///< the steps come after all collectives asked for so far
  int32_t newest_beside_ = -1;  ///< end of the newest overlapped collective that no step has waited for
  std::vector<std::atomic<Boundary>> begins_;  ///< [step]
  std::vector<std::atomic<double>> seconds_;   ///< [slot]; NaN: not looked up since it was marked
};

}  // namespace shardlens
