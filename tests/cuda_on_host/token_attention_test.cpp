// Attention of one token to its cache: in pieces of the keys, and as one operation with the append of the new
// rows. tests/engine/device/every_device_attention_test.cpp tests its values on every device.
#include <gtest/gtest.h>

#include "engine/device/cuda/cuda_device.h"
#include "engine/device/work_behind.h"
#include "tests/cuda_on_host/block.h"
#include "tests/cuda_on_host/streams.h"
#include "tests/engine/device/token_steps.h"

namespace shardlens {
namespace {

constexpr DType kDTypes[] = {DType::Bf16, DType::Fp16, DType::Fp32};

TEST(TokenAttentionOnHost, MatchesTheCpu) {
  const auto device = make_cuda_device(0);
  for (const DType dtype : kDTypes)
    for (const TokenCase& c : kTokenCases) {
      const Tolerance tolerance{64 + 4 * std::sqrt(200.0), 4, false, 1e-3};
      const Outputs exact = attend_token(*make_cpu_device(1), DType::Fp64, 0, c),
                    ours = attend_token(*device, dtype, 0, c);
      ASSERT_EQ(ours.size(), exact.size());
      for (size_t i = 0; i < ours.size(); ++i)
        EXPECT_TRUE(is_near(ours[i], exact[i], dtype, tolerance))
            << to_string(dtype) << ::testing::PrintToString(c);
    }
}

TEST(TokenAttentionOnHost, AppendsToTheBitsOfTheTwoInOneLaunch) {
  const auto device = make_cuda_device(0);
  for (const DType dtype : kDTypes)
    for (TokenCase c : kTokenCases)
      for (const int64_t shift : {0, 1}) {
        const Outputs parts = attend_token(*device, dtype, shift, c);
        c.one_call = true;
        const int before = on_host::launches;
        EXPECT_TRUE(same(attend_token(*device, dtype, shift, c), parts))
            << to_string(dtype) << ::testing::PrintToString(c);
        EXPECT_EQ(on_host::launches - before, 1);
      }
}

TEST(TokenAttentionOnHost, HasTheSameBitsInWhateverOrderBlocksRun) {
  const auto device = make_cuda_device(0);
  for (const DType dtype : kDTypes)
    for (TokenCase c : {kTokenCases[0], kTokenCases[9]}) {
      c.one_call = true;
      const Outputs forwards = attend_token(*device, dtype, 0, c);
      on_host::runs_backwards = true;
      EXPECT_TRUE(same(attend_token(*device, dtype, 0, c), forwards)) << to_string(dtype);
      on_host::runs_backwards = false;
    }
}

// The room of a cache is no part of what a head computes.
TEST(TokenAttentionOnHost, HasTheSameBitsInALargerCache) {
  const auto device = make_cuda_device(0);
  for (const DType dtype : kDTypes) {
    const TokenCase small{.room = 160}, large{.room = 400};
    const Outputs of_small = attend_token(*device, dtype, 0, small),
                  of_large = attend_token(*device, dtype, 0, large);
    EXPECT_EQ(of_small.back().name, "C");
    EXPECT_EQ(of_small.back().bytes, of_large.back().bytes) << to_string(dtype);
  }
}

TEST(TokenAttentionOnHost, ReportsAWrongPositionAndLeavesTheCacheAlone) {
  const auto device = make_cuda_device(0);
  for (const bool one_call : {false, true})
    for (const int32_t position : {-1, 200}) {
      OnDevice on(*device, DType::Bf16, 0);
      const TokenCase c{.position = position, .one_call = one_call};
      attend_token(on, c);
      EXPECT_THROW(device->synchronize(), Error) << position;
      const Outputs left = on.results();
      ASSERT_EQ(left[0].name, "keys");
      const int64_t cache = c.room * c.heads * c.head_dim;
      EXPECT_EQ(left[0].numbers(), normal_in(DType::Bf16, cache, 1)) << position;
      EXPECT_EQ(left[1].numbers(), normal_in(DType::Bf16, cache, 2)) << position;
    }
  EXPECT_NO_THROW(attend_token(*device, DType::Bf16, 0, TokenCase{.one_call = true}));
}

// What comes with a pass is no better than what is copied after it.
TEST(TokenAttentionOnHost, AFetchReportsAWrongPosition) {
  const auto device = make_cuda_device(0);
  WorkBehind& behind = *device->behind();
  behind.provide_marks(1);
  behind.provide_fetch(sizeof(float));
  void* const number = device->allocate(sizeof(float));
  const auto fetch = [&](int32_t position) {
    OnDevice on(*device, DType::Bf16, 0);
    attend_token(on, TokenCase{.position = position, .one_call = true});
    behind.fetch(number, sizeof(float));
    behind.mark(0, WorkOrder::Steps);
    behind.wait_for_mark(0);
    behind.fetched();
  };
  EXPECT_THROW(fetch(200), Error);
  EXPECT_NO_THROW(fetch(3));
  device->release(number);
}

}  // namespace
}  // namespace shardlens
