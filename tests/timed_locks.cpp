// Linked into every program that is built with a sanitizer: a lock with a time limit in a form that both
// sanitizers support. std::timed_mutex waits with pthread_mutex_clocklock, which the thread sanitizer of GCC
// 12 does not support: it does not see that the lock is taken and reports a race on everything that the lock
// guards. It supports pthread_mutex_timedlock, whose limit is a time of day.
#include <pthread.h>
#include <time.h>

extern "C" int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                       const timespec* until) noexcept {
  constexpr long kSecond = 1'000'000'000;
  timespec by_clock{}, by_day{};
  clock_gettime(clock, &by_clock);
  clock_gettime(CLOCK_REALTIME, &by_day);
  const long left = by_day.tv_nsec + until->tv_nsec - by_clock.tv_nsec + kSecond;  // at least 0
  const timespec there{by_day.tv_sec + until->tv_sec - by_clock.tv_sec - 1 + left / kSecond, left % kSecond};
  return pthread_mutex_timedlock(mutex, &there);
}
