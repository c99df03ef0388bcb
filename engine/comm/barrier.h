// The barrier of the local communicator, for threads. Another thread can break it. Arrivals are counted in
// one word. The last arrival advances the phase in a second word, and waiters look at that second word only:
// in a short loop if every thread can have its own core, otherwise asleep in the kernel. A sleeper with
// limited patience wakes at intervals and counts how often. It does not use the clock, because after a stop
// of the whole process, or a sleep of the machine, every member would look late.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>

namespace shardlens {

class Barrier {
 public:
  /// `members` threads use the barrier. With `spins`, a waiter watches the phase for some microseconds before
  /// it sleeps. A waiter that has waited for `patience_seconds` calls its Late function, once.
  Barrier(int members, bool spins, double patience_seconds = std::numeric_limits<double>::infinity());
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  /// Called by a member that has waited this long; it goes on waiting afterwards.
  using Late = std::function<void(double waited_seconds)>;

  /// Called by the last member when it has arrived, before any member passes. It acts for all members. It
  /// must not throw. While it runs, the other members wait and may become late.
  using Last = std::function<void()>;

  /// Waits until every member has arrived. Returns false if the barrier was broken before the last member
  /// arrived. The result is the same for every member: all pass or none.
  [[nodiscard]] bool pass(const Late& late = {}, const Last& last = {});

  /// The same for members whose work must not be left half done: break_up() does not interrupt it, only
  /// give_up() does. Use it only for a barrier that every member is certain to reach, unless a thread hangs.
  bool pass_unbroken(const Late& late = {}, const Last& last = {});

  /// Wakes every waiter in pass() and makes every later pass() false. Safe from any thread, any number of
  /// times.
  void break_up();
  /// The same for pass_unbroken() too. Called when a member will not come.
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
  const double nap_seconds_;  // how long a sleeper sleeps before it wakes to count
  // On separate cache lines, so that arrivals do not take the line away from the waiters that watch the
  // phase.
  alignas(64) std::atomic<int> arrived_{0};
  std::atomic<int> sleepers_{0};
  alignas(64) std::atomic<uint32_t> state_{0};
};

}  // namespace shardlens
