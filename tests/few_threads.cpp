// Preloaded into a program by a test: only as many threads can be started as SHARDLENS_TEST_THREADS says,
// then the system has no more, as with ulimit -u or in a container with few pids.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*main)(void*),
                              void* given) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  static std::atomic<int> left{std::atoi(std::getenv("SHARDLENS_TEST_THREADS"))};
  return left.fetch_sub(1) > 0 ? create(thread, attributes, main, given) : EAGAIN;
}
