// How the benchmark counts. The speed of this machine is not tested.
#include "engine/train/generate/generate_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/io/test_folder.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace generate_bench_test {

using ::testing::HasSubstr;

TEST(GenerateBench, CountsEveryMatrixOnceForAToken) {
  Settings settings = testing::small_model(2);
  settings.model.positions = settings.seq = 64;
  const GenerateBench bench = bench_generate(settings, 2);
  EXPECT_EQ(bench.prompt_tokens, 64 - 4 * 9);
  // Two layers: QKV, its projection, and the MLP's two; then wte, 53 words padded to 256 rows.
  EXPECT_EQ(bench.weight_bytes, 4 * (2 * (4 * 40 * 40 + 2 * 40 * 96) + 256 * 40));
  EXPECT_GT(bench.of_read_ceiling, 0);
  EXPECT_LE(bench.lowest_seconds, bench.median_seconds);
  EXPECT_LE(bench.median_seconds, bench.highest_seconds);
  double in_steps = 0;
  for (const OpTime& time : bench.op_times) in_steps += time.seconds;
  EXPECT_GT(in_steps, 0);
  EXPECT_LE(in_steps, bench.fastest_token_seconds);
  EXPECT_THAT(error_of([&] { bench_generate(settings, 7); }), HasSubstr("Try --seq 162."));
}

}  // namespace generate_bench_test
}  // namespace shardlens
