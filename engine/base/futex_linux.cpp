// Linux's futex.
#include "engine/base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cmath>

namespace shardlens {

bool sleep_while(std::atomic<uint32_t>& word, uint32_t value, double seconds) {
  static_assert(sizeof word == sizeof(uint32_t), "the kernel sleeps on 32 bits");
  timespec time{};
  const bool limited = std::isfinite(seconds);
  if (limited) {
    time.tv_sec = static_cast<time_t>(seconds);
    time.tv_nsec = static_cast<long>((seconds - static_cast<double>(time.tv_sec)) * 1e9);
  }
  const long woken =
      syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, limited ? &time : nullptr, nullptr, 0);
  return woken == 0 || errno != ETIMEDOUT;
}

void wake_sleepers(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace shardlens
