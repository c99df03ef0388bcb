// The system's figures for memory follow the process's allocations.
#include "engine/runtime/resident.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "engine/runtime/measure/step_bench.h"
#include "engine/runtime/plan.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace resident_test {

constexpr int64_t kMuch = int64_t{96} << 20;

TEST(Resident, ThePeakRemembersWhatIsGone) {
  ASSERT_TRUE(reset_resident_peak());
  const int64_t before = resident_bytes();
  {  // of the kernel itself: what is freed of a heap, a sanitizer keeps for a while
    void* much = mmap(nullptr, kMuch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(much, MAP_FAILED);
    std::memset(much, 1, kMuch);
    munmap(much, kMuch);
  }
  EXPECT_GE(resident_peak_bytes(), before + kMuch * 9 / 10);
  EXPECT_LT(resident_bytes(), before + kMuch / 2);
  ASSERT_TRUE(reset_resident_peak());
  EXPECT_LT(resident_peak_bytes(), before + kMuch / 2);
}

TEST(StepBench, CountsThePlansOfItsRanksAndTheMemoryTheyLieIn) {
  const auto plan = make_plan(testing::small_model(2, 2));
  const StepBench bench = bench_step(plan, 1);
  EXPECT_EQ(bench.planned_here_bytes, 2 * (bench.planned_bytes[0] + bench.planned_bytes[1]));
  EXPECT_EQ(bench.high_water_bytes, bench.planned_bytes);
  EXPECT_GT(bench.step_resident_bytes, 0);
}

}  // namespace resident_test
}  // namespace shardlens
