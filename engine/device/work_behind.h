// What a device offers that works behind its calls: a method returns once its work has been asked for, and
// the work is done in the order it was asked for. Collectives have an order of their own beside the steps',
// so that one can travel while the next step computes; where the two meet is said here. When something was
// done is noted on the device, in the same orders, and read later.
#pragma once

#include <cstddef>

namespace shardlens {

enum class WorkOrder { Steps, Collectives };

class WorkBehind {
 public:
  virtual ~WorkBehind() = default;

  /// What is asked of the collectives' order from now on begins after all that was asked of the steps' order.
  virtual void begin_collective() = 0;
  /// What is asked of the steps' order from now on begins after all that was asked of the collectives' order.
  virtual void join_collectives() = 0;

  /// Makes room for marks in the slots 0 to count - 1. Once, before the first of them.
  virtual void provide_marks(size_t count) = 0;
  /// Sets the marks' clock by steady_clock, at the begin of every pass, so that it cannot drift far. Waits
  /// for what was asked before.
  virtual void set_clock() = 0;
  /// Notes in `slot` the moment between what was asked of `order` before and what is asked of it afterwards.
  virtual void mark(size_t slot, WorkOrder order) = 0;
  /// Waits until that has been, and throws a run Error where what was asked before failed. Any thread. It
  /// needs no clock.
  virtual void wait_for_mark(size_t slot) = 0;
  /// When that was, in seconds of steady_clock. Waits as wait_for_mark() does.
  virtual double marked_seconds(size_t slot) = 0;
};

}  // namespace shardlens
