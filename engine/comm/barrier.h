// The meeting point of the local communicator: a barrier over threads that can be broken from outside.
// Arrivals count up in one word; the last one advances the phase in another, and that second word is all that
// waiters look at: in a short loop while every thread can have a core of its own, asleep in the kernel
// otherwise.
#pragma once

#include <atomic>
#include <cstdint>

namespace shardlens {

class Barrier {
 public:
  /// `members` threads meet. With `spins` a waiter watches the phase for some microseconds before it sleeps.
  Barrier(int members, bool spins) : members_(members), spins_(spins) {}
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  /// Waits until every member has arrived. False when the barrier was broken before the last one did, and
  /// then it is false for every member: either all of them pass or none.
  [[nodiscard]] bool pass();

  /// The same for members whose work must not be left half done: a break does not interrupt it. Only for a
  /// meeting that every member is certain to reach.
  void pass_unbroken();

  /// Wakes every waiter in pass() and makes every later pass() false. Safe from any thread, any number of
  /// times.
  void break_up();
  bool broken() const { return (state_.load(std::memory_order_acquire) & kBroken) != 0; }

 private:
  static constexpr uint32_t kBroken = 1;  ///< the low bit of state_; the phase is counted in the bits above
  static constexpr uint32_t kPhase = 2;

  bool meet(bool breakable);

  const int members_;
  const bool spins_;
  // Apart, so that arrivals do not take the line away from those who watch the phase.
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> state_{0};
};

}  // namespace shardlens
