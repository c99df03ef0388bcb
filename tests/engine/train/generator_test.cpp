// On any number of ranks the same logits, the same text.
#include "engine/train/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/train/sampling.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace {

using ::testing::HasSubstr;
using testing::small_model;

Settings sixteen_tokens(int tp, DType dtype = DType::Fp64) {
  Settings settings = small_model(tp);
  settings.dtype = dtype;
  settings.seq = 16;
  return settings;
}

const std::vector<int32_t> kPrompt{5, 11, 2, 52, 0};

// All logits on the way: after the prompt and after each greedy token.
std::vector<std::vector<double>> greedy_logits(const Settings& settings) {
  Generator generator(settings);
  Sampling greedy;
  greedy.temperature = 0;
  std::vector<std::vector<double>> all{generator.feed(kPrompt)};
  while (generator.length() < generator.capacity()) {
    const int32_t next = choose_token(all.back(), greedy, generator.length());
    all.push_back(generator.feed(std::span(&next, 1)));
  }
  return all;
}

double largest_difference(const std::vector<std::vector<double>>& a,
                          const std::vector<std::vector<double>>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    for (size_t j = 0; j < a[i].size(); ++j) largest = std::max(largest, std::abs(a[i][j] - b[i][j]));
  return largest;
}

TEST(Generator, WritesTheSameAtAnyT) {
  const auto whole = greedy_logits(sixteen_tokens(1));
  ASSERT_EQ(whole.size(), 12u);
  ASSERT_EQ(whole[0].size(), 53u);  // without padding
  EXPECT_GT(largest_difference({whole[0]}, {whole[1]}), 1e-3);
  for (const int tp : {1, 2, 3, 5})
    EXPECT_LT(largest_difference(greedy_logits(sixteen_tokens(tp)), whole), 1e-13) << tp;
  EXPECT_LT(largest_difference(greedy_logits(sixteen_tokens(4)), whole), 1e-13);
  const auto fp32 = greedy_logits(sixteen_tokens(2, DType::Fp32));
  EXPECT_LT(largest_difference(fp32, whole), 1e-5);
}

TEST(Generator, AFreshTextDoesNotRememberTheOneBefore) {
  Generator first(sixteen_tokens(2));
  const auto logits = first.feed(std::vector<int32_t>{1, 2, 3});
  Generator second(sixteen_tokens(2));
  second.feed(std::vector<int32_t>{1});
  EXPECT_EQ(second.feed(std::vector<int32_t>{2, 3}), logits);
}

TEST(Generator, WhatHasNoRoomOrNoPlaceIsRefused) {
  Generator generator(sixteen_tokens(1));
  EXPECT_THAT(error_of([&] { generator.feed(std::vector<int32_t>(17, 1)); }), HasSubstr("17 tokens"));
  EXPECT_THAT(error_of([&] { generator.feed(std::vector<int32_t>{53}); }), HasSubstr("token 53"));
  EXPECT_THAT(error_of([&] { generator.feed({}); }), HasSubstr("at least one"));
  EXPECT_THAT(error_of([] { Generator(testing::small_bert(1)); }), HasSubstr("encoder"));
}

}  // namespace
}  // namespace shardlens
