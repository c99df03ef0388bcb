// The barrier of threads.
#include "engine/comm/barrier.h"

#include <algorithm>
#include <cmath>

#include "engine/base/futex.h"
#include "engine/base/waiting.h"

namespace shardlens {

namespace {

// Long enough for ranks that finish equal pieces of work. About as long as it takes to sleep and be woken.
constexpr double kWatchSeconds = 50e-6;

// How long a sleeper with limited patience sleeps before it wakes to count: long enough that it costs
// nothing, and a fraction of a short patience.
constexpr double kLongestNapSeconds = 1;
constexpr int kNapsPerPatience = 8;

double nap_seconds(double patience_seconds) {
  if (!std::isfinite(patience_seconds)) return patience_seconds;
  return std::clamp(patience_seconds / kNapsPerPatience, 1e-3, kLongestNapSeconds);
}

}  // namespace

Barrier::Barrier(int members, bool spins, double patience_seconds)
    : members_(members),
      spins_(spins),
      patience_seconds_(patience_seconds),
      nap_seconds_(nap_seconds(patience_seconds)) {}

bool Barrier::pass(const Late& late, const Last& last) {
  return meet(kBroken | kGivenUp, late, last);
}

bool Barrier::pass_unbroken(const Late& late, const Last& last) {
  return meet(kGivenUp, late, last);
}

// `ends`: the bits of the state that end this phase without its last member.
bool Barrier::meet(uint32_t ends, const Late& late, const Last& last) {
  // The phase cannot advance before this member has arrived, so the phase read here is the one it waits in.
  const uint32_t before = state_.load(std::memory_order_acquire);
  if ((before & ends) != 0) return false;
  const auto phase_of = [](uint32_t state) { return state & ~(kBroken | kGivenUp); };

  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
    if (last) last();
    arrived_.store(0, std::memory_order_relaxed);  // visible to every thread that sees the new phase
    // One exchange decides for all members whether they pass or the barrier ends.
    uint32_t expected = before;
    while (!state_.compare_exchange_strong(expected, expected + kPhase, std::memory_order_seq_cst)) {
      if ((expected & ends) != 0) return false;
    }
    wake_all();
    return true;
  }

  uint32_t state = before;
  const auto over = [&] {
    state = state_.load(std::memory_order_acquire);
    return phase_of(state) != phase_of(before) || (state & ends) != 0;
  };
  if (spins_) watch(kWatchSeconds, over);
  bool is_late = false;
  for (double waited_seconds = 0; !over();) {
    const bool napped = !sleep(state);
    if (!napped) continue;
    waited_seconds += nap_seconds_;
    if (late && !is_late && waited_seconds >= patience_seconds_) {
      is_late = true;
      late(waited_seconds);
    }
  }
  return phase_of(state) != phase_of(before);
}

// Sleeps until the state differs from `state` or something else wakes it. Returns false if it slept a whole
// nap.
bool Barrier::sleep(uint32_t state) {
  // Either the thread that changes the state sees this sleeper in the count, or the kernel sees the new
  // state.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  const bool was_woken = sleep_while(state_, state, nap_seconds_);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return was_woken;
}

void Barrier::wake_all() {
  if (sleepers_.load(std::memory_order_seq_cst) > 0) wake_sleepers(state_);
}

void Barrier::break_up() {
  state_.fetch_or(kBroken, std::memory_order_seq_cst);
  wake_all();
}

void Barrier::give_up() {
  state_.fetch_or(kBroken | kGivenUp, std::memory_order_seq_cst);
  wake_all();
}

}  // namespace shardlens
