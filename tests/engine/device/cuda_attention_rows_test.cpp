// The formula that decides how many rows a warp of attention's 16-bit kernels takes, for GPUs of any size. It
// is arithmetic, so it is tested without a GPU.
#include "engine/device/cuda/attention_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

namespace shardlens::cuda {
namespace cuda_attention_rows_test {

constexpr int64_t kH100 = 132, kRoomOfH100 = 228 << 10, kRoomOfA100 = 164 << 10, kRoomOfDesktop = 100 << 10;
constexpr int64_t kBytes = 80 << 10, kManyBytes = 104 << 10;  // of a block: heads of 96 and of 128

/// By giving every block, in the kernels' order, to the place that is free first.
double by_places(const AttentionRows& rows, int64_t tiles, int64_t at_once) {
  const std::vector<double> idle(static_cast<size_t>(rows.multiprocessors * at_once), 0);
  std::priority_queue busy(std::greater<>(), idle);
  double last = 0;
  for (int64_t first = (pieces(rows.rows, rows.rows_of_block(tiles)) - 1) * rows.rows_of_block(tiles);
       first >= 0; first -= rows.rows_of_block(tiles))
    for (int64_t pair = 0; pair < rows.pairs; ++pair) {
      const double end = busy.top() + rows.of_block(tiles, first);
      busy.pop();
      busy.push(end);
      last = std::max(last, end);
    }
  return last;
}

TEST(CudaAttentionRows, ThePredictionIsThatOfPlacesThatAreNeverIdle) {
  for (const bool causal : {false, true})
    for (const int64_t multiprocessors : {1, 46, 108, 132, 160})
      for (const int64_t pairs : {1, 12, 128, 192})
        for (const int64_t length : {1, 65, 256, 1000, 2048})
          for (const int64_t tiles : {1, 2}) {
            const AttentionRows rows{pairs, length, length, causal, multiprocessors};
            const double exact = by_places(rows, tiles, 2), predicted = rows.predicted(tiles, 2);
            if (!causal) {
              EXPECT_DOUBLE_EQ(predicted, exact);
              continue;
            }
            EXPECT_LE(predicted, exact * (1 + 1e-9));
            // The last block to end began when no place was idle.
            EXPECT_GE(predicted + rows.of_block(tiles, length - 1), exact)
                << pairs << " x " << length << ", " << multiprocessors;
          }
}

// Each 64 rows of a block end with the last key that they see, and none looks at keys that do not exist.
TEST(CudaAttentionRows, ABlockTakesTheKeysThatItsRowsSee) {
  const AttentionRows rows{1, 300, 300, true, kH100};
  EXPECT_DOUBLE_EQ(rows.of_block(1, 64), 128);
  EXPECT_DOUBLE_EQ(rows.of_block(1, 256), 300);
  EXPECT_DOUBLE_EQ(rows.of_block(2, 128), (192 + 256) * AttentionRows::kOfTwoTiles / 2);
  EXPECT_DOUBLE_EQ(rows.of_block(2, 256), (300 + 300) * AttentionRows::kOfTwoTiles / 2);
}

// A layer of megatron-1.2b at 8,192 tokens has 128 pairs of 1,024 tokens.
TEST(CudaAttentionRows, ATrainingStepTakes32) {
  const AttentionRows layer{128, 1024, 1024, true, kH100};
  EXPECT_EQ(layer.blocks(1), 2048);
  EXPECT_EQ(layer.blocks(2), 1024);
  EXPECT_TRUE(layer.takes_two_tiles(kBytes, kRoomOfH100));
  EXPECT_TRUE(layer.takes_two_tiles(kManyBytes, kRoomOfH100));
  EXPECT_TRUE((AttentionRows{128, 1024, 1024, false, kH100}.takes_two_tiles(kBytes, kRoomOfH100)));
}

// Their blocks would leave more of the GPU idle than they save.
TEST(CudaAttentionRows, ShortSequencesAndFewHeadsTake16) {
  for (const bool causal : {false, true}) {
    EXPECT_FALSE((AttentionRows{12, 256, 256, causal, kH100}.takes_two_tiles(kBytes, kRoomOfH100)));
    EXPECT_FALSE((AttentionRows{1, 64, 64, causal, kH100}.takes_two_tiles(kBytes, kRoomOfH100)));
    EXPECT_FALSE((AttentionRows{0, 64, 64, causal, kH100}.takes_two_tiles(kBytes, kRoomOfH100)));
    EXPECT_FALSE((AttentionRows{12, 0, 0, causal, kH100}.takes_two_tiles(kBytes, kRoomOfH100)));
    // A block of 64 rows or of 128 for each pair.
    EXPECT_FALSE((AttentionRows{4000, 64, 64, causal, kH100}.takes_two_tiles(kBytes, kRoomOfH100)));
  }
}

// Where only one block of 128 rows fits on a multiprocessor, or none, it is not taken.
TEST(CudaAttentionRows, ItTakesSharedMemoryForTwoBlocks) {
  const AttentionRows layer{128, 1024, 1024, true, 108};
  EXPECT_TRUE(layer.takes_two_tiles(kBytes, kRoomOfA100));
  EXPECT_FALSE(layer.takes_two_tiles(kManyBytes, kRoomOfA100)) << "one block";
  EXPECT_FALSE(layer.takes_two_tiles(kManyBytes, kRoomOfDesktop)) << "none";
}

// On a GPU of any size: fewer rows than fill its places with blocks of 128 rows are never given to them.
TEST(CudaAttentionRows, AGpuIsFilledFirst) {
  int taken = 0;
  for (int64_t multiprocessors = 1; multiprocessors <= 264; ++multiprocessors)
    for (const int64_t pairs : {1, 3, 16, 64, 128})
      for (const bool causal : {false, true}) {
        const AttentionRows rows{pairs, 512, 512, causal, multiprocessors};
        if (!rows.takes_two_tiles(kBytes, kRoomOfH100)) continue;
        ++taken;
        EXPECT_GE(rows.blocks(2), multiprocessors) << pairs << " pairs, " << multiprocessors;
      }
  EXPECT_GT(taken, 0);
}

}  // namespace cuda_attention_rows_test
}  // namespace shardlens::cuda
