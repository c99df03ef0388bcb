// Freed memory stays with the program, in one piece: allocating, freeing and allocating again causes no new
// page faults.
#include "engine/device/cpu/allocation.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace shardlens::cpu {
namespace allocation_test {

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

class Allocation : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's malloc is not glibc's";
#endif
    keep_freed_memory();
  }
};

TEST_F(Allocation, RoomIsTakenFromTheKernelOnce) {
  std::thread([] {  // as a rank's: of an arena that is not the main one
    constexpr size_t kBytes = 8 << 20;
    take_and_free(kBytes);
    const int64_t before = pages_taken();
    for (int round = 0; round < 10; ++round) take_and_free(kBytes);
    EXPECT_LT(pages_taken() - before, 100);  // of the 20,480 that the ten have
  })
      .join();
}

TEST_F(Allocation, RoomsOfSeveralSizesAreTheSameMemory) {
  std::thread([] {
    join_freed_memory();
    constexpr size_t kSizes[] = {2967232, 2377408, 1787584};  // of a step's products, more or less
    uintptr_t first = UINTPTR_MAX, last = 0;
    for (int round = 0; round < 15; ++round)
      for (const size_t bytes : kSizes) {
        void* room = nullptr;
        ASSERT_EQ(posix_memalign(&room, 64, bytes), 0);
        first = std::min(first, reinterpret_cast<uintptr_t>(room));
        last = std::max(last, reinterpret_cast<uintptr_t>(room) + bytes);
        std::free(room);
      }
    EXPECT_LT(last - first, 2 * kSizes[0]);  // without, five times as much
  }).join();
}

}  // namespace allocation_test
}  // namespace shardlens::cpu
