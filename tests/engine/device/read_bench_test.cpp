// How the benchmark of the ceiling counts. The speed of this machine is not tested.
#include "engine/device/read_bench.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"

namespace shardlens {
namespace read_bench_test {

TEST(ReadBenchTest, ReadsAnySizeOnAnyNumberOfThreads) {
  for (const int64_t bytes : {1, 1000, 3 << 20})
    for (const int threads : {1, 3}) {
      ReadBench bench(bytes, threads);
      EXPECT_GT(bench.bytes_per_second(), 0);
    }
}

TEST(ReadBenchTest, RefusesNothingToRead) {
  EXPECT_THROW(ReadBench(0, 1), Error);
  EXPECT_THROW(ReadBench(1, 0), Error);
}

}  // namespace read_bench_test
}  // namespace shardlens
