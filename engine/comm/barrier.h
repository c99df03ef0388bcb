// The meeting point of the local communicator: a barrier over threads that can be broken from outside.
// Arrivals count up in one word; the last one advances the phase in another, and that second word is all that
// waiters look at: in a short loop while every thread can have a core of its own, asleep in the kernel
// otherwise. A sleeper that may not wait for ever wakes now and then and counts how often: by the clock a
// process that was stopped as a whole, or a machine that slept, would have late members.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>

namespace shardlens {

class Barrier {
 public:
  /// `members` threads meet. With `spins` a waiter watches the phase for some microseconds before it sleeps.
  /// Who has waited for `patience_seconds` says so, once.
  Barrier(int members, bool spins, double patience_seconds = std::numeric_limits<double>::infinity());
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  /// Called by a member that has waited for so many seconds, and goes on waiting.
  using Late = std::function<void(double waited_seconds)>;

  /// Called by the last member when it has arrived and before anybody passes: what it does is done for all of
  /// them. It must not throw. Those who wait for it meanwhile may be late.
  using Last = std::function<void()>;

  /// Waits until every member has arrived. False when the barrier was broken before the last one did, and
  /// then it is false for every member: either all of them pass or none.
  [[nodiscard]] bool pass(const Late& late = {}, const Last& last = {});

  /// The same for members whose work must not be left half done: a break does not interrupt it, only
  /// give_up() does. Only for a meeting that every member is certain to reach, as far as members are.
  bool pass_unbroken(const Late& late = {}, const Last& last = {});

  /// Wakes every waiter in pass() and makes every later pass() false. Safe from any thread, any number of
  /// times.
  void break_up();
  /// The same for pass_unbroken() too: a member will not come.
  void give_up();
  bool broken() const { return (state_.load(std::memory_order_acquire) & kBroken) != 0; }

 private:
  // The low bits of state_; the phase is counted in the bits above.
  static constexpr uint32_t kBroken = 1;
  static constexpr uint32_t kGivenUp = 2;
  static constexpr uint32_t kPhase = 4;

  bool meet(uint32_t ends, const Late& late, const Last& last);
  bool sleep(uint32_t state);
  void wake_all();

  const int members_;
  const bool spins_;
  const double patience_seconds_;
  // Apart, so that arrivals do not take the line away from those who watch the phase.
  alignas(64) std::atomic<int> arrived_{0};
  std::atomic<int> sleepers_{0};
  alignas(64) std::atomic<uint32_t> state_{0};
};

}  // namespace shardlens
