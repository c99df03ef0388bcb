// A run that would hold up a page for long is asked for first.
#include "engine/runtime/session/long_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/config/presets.h"
#include "engine/config/validate.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace long_run_test {

constexpr double kFlops = 5e9, kSeconds = 15;

Settings layer(const char* model, int64_t batch, int64_t seq) {
  Settings settings;
  settings.model = model_preset(model);
  settings.tp = 4;
  settings.batch = batch;
  settings.seq = seq;
  return settings;
}

TEST(LongRun, SaysHowLongAndWhatIsShorter) {
  EXPECT_NO_THROW(refuse_if_long(*make_plan(layer("gpt2", 1, 64)), kFlops, kSeconds));
  try {
    refuse_if_long(*make_plan(layer("gpt2", 4, 256)), kFlops, kSeconds);
    FAIL() << "4 passes of 1,024 tokens are 36 s";
  } catch (const TooLarge& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("about 3"));
    ASSERT_EQ(error.fitting().size(), 1u);
    EXPECT_NO_THROW(refuse_if_long(*make_plan(error.fitting()[0]), kFlops, kSeconds));
  }
}

TEST(LongRun, WhatNoSizeHelpsNeedsASmallerModel) {
  try {
    refuse_if_long(*make_plan(layer("gpt3-175b", 1, 64)), 1e7, kSeconds);
    FAIL();
  } catch (const TooLarge& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("smaller model"));
    EXPECT_TRUE(error.fitting().empty());
  }
}

TEST(LongRun, OneCoreIsMeasured) {
  EXPECT_GT(one_core_flops(), 1e7);
  EXPECT_EQ(one_core_flops(), one_core_flops()) << "once";
}

}  // namespace long_run_test
}  // namespace shardlens
