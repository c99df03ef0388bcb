// Sets a rank's scheduling by Linux's system calls.
#include "engine/runtime/rank_priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace shardlens {
namespace {

std::atomic<bool> is_beside_a_window = false;

// The scheduling attributes of a thread, as the system call takes them; the C library has no name for them
// yet.
struct Turn {
  uint32_t size = sizeof(Turn), policy = SCHED_OTHER;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t slice_ns = 0, deadline_ns = 0, period_ns = 0;
};

// A rank computes on every core that it gets, and a window must not wait for it. At the lowest priority the
// ranks lose only the time that drawing takes. A SCHED_BATCH thread that wakes up preempts no other thread. A
// rank has the longest slice that the system allows; every other thread has a shorter one and preempts a rank
// at once. (With SCHED_IDLE, ranks would starve while a compiler runs, and frames were done no sooner:
// ui/platform/TRIED.md.)
void give_way_to_the_window() {
  constexpr int kLowestPriority = 19;
  Turn turn;
  turn.policy = SCHED_BATCH;
  turn.nice = kLowestPriority;
  turn.slice_ns = 100'000'000;
  if (syscall(SYS_sched_setattr, 0, &turn, 0) == 0) return;
  setpriority(PRIO_PROCESS, 0, kLowestPriority);
}

}  // namespace

void set_beside_a_window(bool is) {
  is_beside_a_window = is;
}

void take_rank_priority() {
  if (is_beside_a_window) give_way_to_the_window();
}

}  // namespace shardlens
