// Freed memory stays with the program: room that is taken, freed and taken again costs no page anew.
#include "engine/device/cpu/allocation.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <thread>

namespace shardlens::cpu {
namespace {

int64_t pages_taken() {
  rusage usage{};
  EXPECT_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
  return usage.ru_minflt;
}

void take_and_free(size_t bytes) {
  char* const room = static_cast<char*>(std::malloc(bytes));
  ASSERT_NE(room, nullptr);
  std::memset(room, 1, bytes);
  asm volatile("" : : "r"(room) : "memory");  // else it would be left out
  std::free(room);
}

TEST(Allocation, RoomIsTakenFromTheKernelOnce) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's malloc is not glibc's";
#endif
  keep_freed_memory();
  std::thread([] {  // as a rank's: of an arena that is not the main one
    constexpr size_t kBytes = 8 << 20;
    take_and_free(kBytes);
    const int64_t before = pages_taken();
    for (int round = 0; round < 10; ++round) take_and_free(kBytes);
    EXPECT_LT(pages_taken() - before, 100);  // of the 20,480 that the ten have
  })
      .join();
}

}  // namespace
}  // namespace shardlens::cpu
