#include "engine/comm/barrier.h"

#include <chrono>
#include <thread>

namespace shardlens {

namespace {

// Long enough for ranks that finish equal pieces of work, and about what it costs to sleep and be woken.
constexpr auto kSpin = std::chrono::microseconds(50);
// Then the core is offered to others: the scheduler may have put two members on one core, where the one that
// is awaited cannot arrive while the other one watches.
constexpr int kLooksPerYield = 32;

// Tells the core that this is a waiting loop, so that it saves power and leaves it without a mis-speculation.
#if defined(__x86_64__)
inline void relax() {
  __builtin_ia32_pause();
}
#else
inline void relax() {}
#endif

}  // namespace

bool Barrier::pass() {
  return meet(true);
}

void Barrier::pass_unbroken() {
  meet(false);
}

bool Barrier::meet(bool breakable) {
  // The phase cannot advance before this member has arrived, so what is read here is the phase it waits in.
  const uint32_t before = state_.load(std::memory_order_acquire);
  if (breakable && (before & kBroken) != 0) return false;
  const uint32_t phase = before & ~kBroken;

  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
    arrived_.store(0, std::memory_order_relaxed);  // seen by all who see the new phase
    if (breakable) {
      // One exchange decides between passing and breaking, for everybody.
      uint32_t expected = phase;
      if (!state_.compare_exchange_strong(expected, phase + kPhase, std::memory_order_acq_rel)) return false;
    } else {
      state_.fetch_add(kPhase, std::memory_order_acq_rel);
    }
    state_.notify_all();
    return true;
  }

  uint32_t state = before;
  const auto over = [&] {
    state = state_.load(std::memory_order_acquire);
    return (state & ~kBroken) != phase || (breakable && (state & kBroken) != 0);
  };
  if (spins_) {
    const auto deadline = std::chrono::steady_clock::now() + kSpin;
    do {
      for (int look = 0; look < kLooksPerYield && !over(); ++look) relax();
      if (!over()) std::this_thread::yield();
    } while (!over() && std::chrono::steady_clock::now() < deadline);
  }
  while (!over()) state_.wait(state, std::memory_order_acquire);
  return (state & ~kBroken) != phase;
}

void Barrier::break_up() {
  state_.fetch_or(kBroken, std::memory_order_acq_rel);
  state_.notify_all();
}

}  // namespace shardlens
