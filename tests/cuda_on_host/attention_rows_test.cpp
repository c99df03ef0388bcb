// Attention in 16 bits with 16 and with 32 rows a warp: which of them is launched, and that both give the
// same bits. A GPU with one multiprocessor is filled by any launch, and one with very many by none.
// tests/engine/device/every_device_attention_test.cpp tests the values of the first.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/device/cuda/cuda_device.h"
#include "tests/cuda_on_host/block.h"
#include "tests/cuda_on_host/streams.h"
#include "tests/engine/device/on_device.h"

namespace shardlens {
namespace {

constexpr int kFilledByAny = 1, kFilledByNone = 1 << 20;

struct Case {
  int64_t batch, seq, heads, head_dim;
  bool causal = true;
  int64_t key_heads = 0;  ///< 0: as many as heads
  bool recompute = true;  ///< P is not stored
  double dropout = 0;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.batch << " x " << c.seq << ", " << c.heads << " heads of " << c.head_dim
       << (c.causal ? ", causal" : "") << ", " << c.key_heads << " key heads"
       << (c.recompute ? "" : ", P stored") << ", dropout " << c.dropout;
}

std::unique_ptr<Device> device_with(int multiprocessors) {
  on_host::multiprocessors = multiprocessors;
  std::unique_ptr<Device> device = make_cuda_device(0);
  on_host::multiprocessors = 132;
  return device;
}

/// The forward pass, and then the backward pass.
void attend(OnDevice& on, const Case& c) {
  const int64_t tokens = c.batch * c.seq, width = c.heads * c.head_dim;
  const int64_t of_keys = 2 * c.key_heads * c.head_dim, parts = c.key_heads > 0 ? 1 : 3;
  Attention op{.dtype = on.dtype, .batch = c.batch, .seq = c.seq, .heads = c.heads};
  op.head_dim = c.head_dim;
  op.causal = c.causal;
  op.recompute = c.recompute;
  if (c.dropout > 0) {
    op.dropout = {c.dropout, 11, 0xABCDEF};
    op.all_heads = c.heads;
  }
  op.qkv = on.in(normal_in(on.dtype, tokens * parts * width, 1));
  if (c.key_heads > 0) {
    op.kv = on.in(normal_in(on.dtype, tokens * of_keys, 2));
    op.keys = {c.key_heads, c.heads / c.key_heads, 0};
  }
  op.saved =
      c.recompute ? on.out_wide("statistics", tokens * c.heads * 2) : on.out("P", tokens * c.heads * c.seq);
  op.context = on.out("C", tokens * width);
  on.device.attention(op);
  AttentionGrad grad{.forward = op};
  if (c.key_heads > 0) grad.dkv = on.out("dKV", tokens * of_keys);
  grad.dcontext = on.in(normal_in(on.dtype, tokens * width, 3));
  grad.dqkv = on.out("dQKV", tokens * parts * width);
  on.device.attention_grad(grad);
}

Outputs attend(Device& device, DType dtype, const Case& c) {
  return operate(device, dtype, 0, [&](OnDevice& on) { attend(on, c); });
}

/// Blocks that the launches of a pass have in all, beside those of the sums of dC·C.
int blocks_of(Device& device, const Case& c) {
  const int before = on_host::blocks;
  attend(device, DType::Bf16, c);
  device.synchronize();
  const auto of_sums = static_cast<int>((c.batch * c.seq * c.heads + 7) / 8);
  return on_host::blocks - before - of_sums;
}

// All widths of tiles, whole and not; rows that end within a block, a warp and its second 16 rows; each fills
// a GPU with one multiprocessor.
const Case kCases[] = {
    {1, 300, 2, 64}, {2, 128, 1, 96},        {1, 257, 2, 128},         {1, 145, 3, 104, false},
    {2, 90, 2, 24},  {1, 200, 2, 80, false}, {1, 300, 2, 96, true, 1}, {1, 70, 4, 64, false},
};

TEST(AttentionRowsOnHost, HaveTheSameBitsWithTwiceAsManyAWarp) {
  const auto wide = device_with(kFilledByAny), narrow = device_with(kFilledByNone);
  for (const DType dtype : {DType::Bf16, DType::Fp16})
    for (const Case& c : kCases) {
      EXPECT_TRUE(same(attend(*wide, dtype, c), attend(*narrow, dtype, c)))
          << to_string(dtype) << " " << ::testing::PrintToString(c);
      EXPECT_LT(blocks_of(*wide, c), blocks_of(*narrow, c)) << ::testing::PrintToString(c);
    }
}

TEST(AttentionRowsOnHost, HaveTheSameBitsInWhateverOrderBlocksRun) {
  const auto wide = device_with(kFilledByAny);
  const Outputs forwards = attend(*wide, DType::Bf16, kCases[0]);
  on_host::runs_backwards = true;
  EXPECT_TRUE(same(attend(*wide, DType::Bf16, kCases[0]), forwards));
  on_host::runs_backwards = false;
}

// 300 rows are five blocks of 64, or three of 128; dK and dV always take 64.
TEST(AttentionRowsOnHost, AreThoseOfTheFormula) {
  const auto wide = device_with(kFilledByAny), narrow = device_with(kFilledByNone);
  for (const int64_t width : {64, 96, 128}) {
    Case c{1, 300, 2, width};
    EXPECT_EQ(blocks_of(*narrow, c), 2 * (5 + 5 + 5)) << width;
    const int forward = width == 128 ? 5 : 3;  // the wide ones do not fit the registers
    EXPECT_EQ(blocks_of(*wide, c), 2 * (forward + 3 + 5)) << width;
    c.dropout = 0.1;
    EXPECT_EQ(blocks_of(*wide, c), 2 * (5 + 5 + 5)) << width << ", with dropout";
    c.dropout = 0;
    c.recompute = false;
    EXPECT_EQ(blocks_of(*wide, c), 2 * (5 + 5 + 5)) << width << ", P stored";
  }
}

// The second tile of shared memory is what the kernels for 128 need most of.
TEST(AttentionRowsOnHost, NeedSharedMemory) {
  on_host::shared_room = size_t{100} << 10;
  const auto small = device_with(kFilledByAny);
  on_host::shared_room = size_t{228} << 10;
  EXPECT_EQ(blocks_of(*small, {1, 300, 2, 128}), 2 * (5 + 5 + 5));
}

}  // namespace
}  // namespace shardlens
