// Starts, calls and ends the helpers of a thread.
#include "engine/device/cpu/thread_team.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "engine/base/futex.h"
#include "engine/base/waiting.h"
#include "engine/device/device.h"

namespace shardlens::cpu {
namespace {

// Longer than a rank computes on one thread between two kernels that use the team, so that helpers sleep only
// where a rank waits for others.
constexpr double kHelperWatchSeconds = 200e-6;
// Parts are of equal size, so the last helper is soon done.
constexpr double kOwnerWatchSeconds = 50e-6;
constexpr double kScarceWatchSeconds = 5e-6;

// The threads of all teams, owners included, and whether they are more than the cores. Then a thread watches
// for a shorter time: the thread that it waits for may need its core.
std::atomic<int> team_threads{0};
std::atomic<bool> are_cores_scarce{false};

void count_team_threads(int more) {
  are_cores_scarce = team_threads.fetch_add(more) + more > available_cores();
}

// True while a thread computes a part of a call: calls in it run on this one thread.
thread_local bool is_in_part = false;

// Waits until `word` has another value than `seen`. `sleeps` tells the thread that changes it whether to
// wake.
void wait_for_change(std::atomic<uint32_t>& word, uint32_t seen, std::atomic<bool>& sleeps,
                     double watch_seconds) {
  const auto changed = [&] { return word.load(std::memory_order_acquire) != seen; };
  if (watch(are_cores_scarce.load(std::memory_order_relaxed) ? kScarceWatchSeconds : watch_seconds, changed))
    return;
  sleeps.store(true, std::memory_order_seq_cst);
  while (!changed()) sleep_while(word, seen);
  sleeps.store(false, std::memory_order_relaxed);
}

}  // namespace

ThreadTeam& ThreadTeam::of_this_thread() {
  thread_local ThreadTeam team;
  return team;
}

ThreadTeam::~ThreadTeam() {
  ends_ = true;
  for (Helper& helper : helpers_) {
    helper.calls.fetch_add(1, std::memory_order_seq_cst);
    wake_sleepers(helper.calls);
    helper.thread.join();
  }
  if (!helpers_.empty()) count_team_threads(-1 - static_cast<int>(helpers_.size()));
}

void ThreadTeam::add_helpers(int count) {
  while (std::ssize(helpers_) < count) {
    Helper& helper = helpers_.emplace_back();
    const int range = static_cast<int>(helpers_.size());
    try {
      helper.thread = std::thread([this, &helper, range] { help(helper, range); });
    } catch (const std::system_error&) {  // no more threads may be started: fewer of them compute the same
      helpers_.pop_back();
      return;
    }
    count_team_threads(range == 1 ? 2 : 1);
  }
}

void ThreadTeam::run(int threads, int64_t items, Part part, void* work) {
  const auto ranges = static_cast<int>(std::min<int64_t>(items, threads));
  if (ranges <= 1 || is_in_part) return part(work, 0, items);
  add_helpers(ranges - 1);
  call_ = {part, work, items, std::min(ranges, static_cast<int>(helpers_.size()) + 1)};
  unfinished_.store(static_cast<uint32_t>(call_.ranges - 1), std::memory_order_relaxed);
  for (int range = 1; range < call_.ranges; ++range) {
    Helper& helper = helpers_[static_cast<size_t>(range - 1)];
    helper.calls.fetch_add(1, std::memory_order_seq_cst);
    if (helper.sleeps.load(std::memory_order_seq_cst)) wake_sleepers(helper.calls);
  }
  compute(0);
  for (uint32_t left; (left = unfinished_.load(std::memory_order_acquire)) != 0;)
    wait_for_change(unfinished_, left, owner_sleeps_, kOwnerWatchSeconds);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// The ranges differ by one item at most.
void ThreadTeam::compute(int range) {
  const int64_t each = call_.items / call_.ranges, more = call_.items % call_.ranges;
  const int64_t first = range * each + std::min<int64_t>(range, more);
  is_in_part = true;
  try {
    call_.part(call_.work, first, first + each + (range < more ? 1 : 0));
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  is_in_part = false;
}

void ThreadTeam::help(Helper& helper, int range) {
  for (uint32_t seen = 0;;) {
    wait_for_change(helper.calls, seen, helper.sleeps, kHelperWatchSeconds);
    ++seen;
    if (ends_) return;
    compute(range);
    unfinished_.fetch_sub(1, std::memory_order_seq_cst);
    if (owner_sleeps_.load(std::memory_order_seq_cst)) wake_sleepers(unfinished_);
  }
}

}  // namespace shardlens::cpu
