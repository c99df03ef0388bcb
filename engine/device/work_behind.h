// The interface of a device that works behind its calls: a method only asks for work and returns, and the
// device does the work in the order of the calls. There are two such orders, one for steps and one for
// collectives, so that a collective can run while the next step computes. This interface makes one order wait
// for the other. The device also notes the times of marks in both orders; they are read later. What the host
// reads after every pass can be fetched with the pass, so that the host waits once for both.
#pragma once

#include <cstddef>
#include <functional>

namespace shardlens {

enum class WorkOrder { Steps, Collectives };

class WorkBehind {
 public:
  virtual ~WorkBehind() = default;

  /// From now on, collectives begin after all steps that were asked for before. Whoever asks for a collective
  /// calls it first, after the steps that the collective needs. `goes_first`: the steps after it wait until
  /// the collective may begin, so that it is not behind a step that takes the whole device. They also wait
  /// for the collectives before it.
  virtual void begin_collective(bool goes_first = false) = 0;
  /// From now on, steps begin after all collectives that were asked for before.
  virtual void join_collectives() = 0;

  /// Makes room for marks in the slots 0 to count - 1. Called once, before the first mark.
  virtual void provide_marks(size_t count) = 0;
  /// Sets the marks' clock to steady_clock. Called at the begin of every pass, so that it cannot drift far.
  /// Waits for all work that was asked for before.
  virtual void set_clock() = 0;
  /// Notes the time in `slot`, between the work of `order` that was asked for before and that asked for
  /// later.
  virtual void mark(size_t slot, WorkOrder order) = 0;
  /// Waits for the mark. Throws a run Error if the work before it failed. Any thread may call it. It needs no
  /// clock.
  virtual void wait_for_mark(size_t slot) = 0;
  /// The time of the mark, in seconds of steady_clock; infinity if the device has not reached it. Does not
  /// wait: who has waited for a later mark of the same order knows that this one is reached. Any thread.
  virtual double marked_seconds(size_t slot) = 0;

  /// Makes room for a fetch() of up to `bytes`. Called once, before the first.
  virtual void provide_fetch(size_t bytes) = 0;
  /// Asks for a copy of device memory to host memory that the device keeps, after the steps that were asked
  /// for before. The bytes are there when a later mark of the steps is reached, until the next fetch().
  virtual void fetch(const void* from, size_t bytes) = 0;
  /// The bytes of the last fetch(), if a mark behind it was waited for. Throws what Device::copy_to_host()
  /// would throw.
  virtual const void* fetched() = 0;

  /// Keeps the work of steps that `ask` asks for, so that replay() asks for all of it with one call. The work
  /// must be the same each time and in the same memory: no marks, no collectives, no copies to or from the
  /// host. Nothing of it is done yet. Returns false if the device cannot keep it; then `ask` counts as not
  /// called, and the failure of a call in it shows when the work is asked for without capture().
  virtual bool capture(const std::function<void()>& ask) = 0;
  /// Asks for the work that capture() kept last.
  virtual void replay() = 0;
};

}  // namespace shardlens
