// Generation gives the same logits and the same text with and without a cache, on any number of ranks,
// however attention is cut.
#include "engine/train/generate/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/planner/planner.h"
#include "engine/runtime/arena.h"
#include "engine/runtime/feed.h"
#include "engine/train/generate/sampling.h"
#include "engine/train/model_state.h"
#include "tests/engine/device/operands.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace generator_test {

using ::testing::HasSubstr;
using testing::small_model;

constexpr int64_t kRoom = 16;

Settings sixteen_tokens(int tp, DType dtype = DType::Fp64, const std::string& split = "megatron") {
  Settings settings = small_model(tp, 1, split);
  settings.dtype = dtype;
  settings.seq = kRoom;
  return settings;
}

const std::vector<int32_t> kText{5, 11, 2, 52, 0, 7, 7, 31, 19, 4, 44, 3, 52, 1, 0, 9};

Sampling greedy() {
  Sampling sampling;
  sampling.temperature = 0;
  return sampling;
}

// The whole text in one forward pass, without a cache and on one rank: logits [16, 53].
std::vector<double> uncached_logits(Settings settings) {
  settings.vocab_ranks = settings.tp;
  settings.tp = 1;
  settings.batch = 1;
  const auto plan = make_plan(plan_evaluation(settings));
  Executor executor(plan);
  PassInputs inputs;
  Batch batch;
  batch.tokens = kText;
  batch.labels.assign(kText.size(), kIgnoredLabel);
  inputs.batch = std::make_shared<const Batch>(batch);
  executor.wait();
  executor.set_inputs(inputs);
  executor.start(executor.steps());
  executor.wait();
  std::vector<double> logits;
  for (const Tensor& tensor : plan->program.tensors) {
    if (tensor.name != "logits") continue;
    const std::vector<std::byte> whole = read_whole(executor, plan->program, tensor.id);
    for (int64_t row = 0; row < kRoom; ++row)
      for (int64_t word = 0; word < settings.model.vocab; ++word)
        logits.push_back(
            element_of(tensor.dtype, whole.data(), static_cast<size_t>(row * tensor.shape[1] + word)));
  }
  return logits;
}

// The same text fed in parts: the logits after each of them, and those rows of `all`.
struct Parts {
  std::vector<double> cached, uncached;
};
Parts feed_parts(const Settings& settings, const std::vector<size_t>& parts, const std::vector<double>& all) {
  Generator generator(settings);
  Parts result;
  for (const size_t part : parts) {
    const auto begin = static_cast<size_t>(generator.length());
    const std::vector<double> logits = generator.feed(std::span(kText).subspan(begin, part));
    result.cached.insert(result.cached.end(), logits.begin(), logits.end());
    const auto row = all.begin() + static_cast<std::ptrdiff_t>((begin + part - 1) * logits.size());
    result.uncached.insert(result.uncached.end(), row, row + static_cast<std::ptrdiff_t>(logits.size()));
  }
  EXPECT_EQ(generator.length(), kRoom);
  return result;
}

const std::vector<size_t> kPromptThenTokens{5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

class CachedLogits : public ::testing::TestWithParam<const char*> {};

TEST_P(CachedLogits, AreThoseOfAWholePassAtAnyT) {
  const std::vector<double> all = uncached_logits(sixteen_tokens(1));
  ASSERT_EQ(all.size(), 16u * 53u);
  for (const int tp : {1, 2, 3, 5, 7}) {  // of five heads: uneven, one each, and none on some
    const Parts parts = feed_parts(sixteen_tokens(tp, DType::Fp64, GetParam()), kPromptThenTokens, all);
    EXPECT_LT(relative_error(parts.cached, parts.uncached), 1e-14) << tp;
  }
  const std::vector<double> single = uncached_logits(sixteen_tokens(1, DType::Fp32));
  for (const int tp : {1, 2, 3}) {
    const Parts parts = feed_parts(sixteen_tokens(tp, DType::Fp32, GetParam()), kPromptThenTokens, single);
    EXPECT_LT(relative_error(parts.cached, parts.uncached), 2e-6) << tp;
  }
}

INSTANTIATE_TEST_SUITE_P(Splits, CachedLogits,
                         ::testing::Values("megatron", "reversed", "row-row", "column-column", "replicated"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Two key heads of eight: sliced, whole on every rank, and copied.
TEST(Generator, GroupedQueriesShareTheCache) {
  const auto grouped = [](int tp, DType dtype = DType::Fp64) {
    Settings settings = sixteen_tokens(tp, dtype);
    settings.model.heads = 8;
    settings.model.kv_heads = 2;
    return settings;
  };
  const std::vector<double> all = uncached_logits(grouped(1));
  for (const int tp : {1, 2, 3, 4, 8}) {
    const Parts parts = feed_parts(grouped(tp), kPromptThenTokens, all);
    EXPECT_LT(relative_error(parts.cached, parts.uncached), 1e-14) << tp;
  }
  const Parts half =
      feed_parts(grouped(4, DType::Bf16), kPromptThenTokens, uncached_logits(grouped(1, DType::Bf16)));
  EXPECT_LT(relative_error(half.cached, half.uncached), 0x1p-5);
}

TEST(Generator, APromptMayComeInAnyParts) {
  const std::vector<double> all = uncached_logits(sixteen_tokens(1));
  for (const auto& lengths : std::vector<std::vector<size_t>>{{16}, {1, 15}, {3, 4, 1, 8}, {2, 2, 12}}) {
    const Parts parts = feed_parts(sixteen_tokens(2), lengths, all);
    EXPECT_LT(relative_error(parts.cached, parts.uncached), 1e-14);
  }
}

TEST(Generator, SixteenBitsRoundAsAWholePassDoes) {
  for (const DType dtype : {DType::Bf16, DType::Fp16}) {
    const std::vector<double> all = uncached_logits(sixteen_tokens(1, dtype));
    for (const int tp : {1, 3}) {
      const Parts parts = feed_parts(sixteen_tokens(tp, dtype), kPromptThenTokens, all);
      EXPECT_LT(relative_error(parts.cached, parts.uncached), dtype == DType::Bf16 ? 0x1p-5 : 0x1p-8) << tp;
    }
  }
}

// Longer than one pass takes: the passes follow one another in the cache.
TEST(Generator, ALongPromptIsRunInSeveralPasses) {
  Settings settings = small_model(2);
  settings.dtype = DType::Fp64;
  settings.model.positions = 600;
  settings.seq = 600;
  std::vector<int32_t> prompt(530);
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<int32_t>(i * i % 53);
  Generator in_passes(settings);
  const std::vector<double> logits = in_passes.feed(prompt);
  EXPECT_EQ(in_passes.length(), 530);
  Generator by_token(settings);
  std::vector<double> last;
  for (const int32_t token : prompt) last = by_token.feed(std::span(&token, 1));
  EXPECT_LT(relative_error(last, logits), 1e-14);
}

std::vector<int32_t> written(const Settings& settings, const Sampling& sampling) {
  Generator generator(settings);
  std::vector<int32_t> text(kText.begin(), kText.begin() + 4);
  std::vector<double> logits = generator.feed(text);
  while (generator.length() < generator.capacity()) {
    text.push_back(choose_token(logits, sampling, generator.length()));
    logits = generator.feed(std::span(&text.back(), 1));
  }
  return text;
}

// What follows a token is chosen on a rank's thread, and is what feed() would have said.
TEST(Generator, WritesOnAsItIsFed) {
  Sampling sampling;
  sampling.seed = 7;
  for (const int tp : {1, 2, 5}) {
    Settings settings = small_model(tp);
    settings.seq = 16;
    const std::vector<int32_t> fed = written(settings, sampling);
    Generator generator(settings);
    std::vector<int32_t> text(kText.begin(), kText.begin() + 4);
    generator.feed(text);
    generator.write([&](const std::vector<double>& logits) -> std::optional<int32_t> {
      EXPECT_EQ(generator.length(), static_cast<int64_t>(text.size()));
      if (generator.length() == generator.capacity()) return std::nullopt;
      text.push_back(choose_token(logits, sampling, generator.length()));
      return text.back();
    });
    EXPECT_EQ(text, fed) << "T " << tp;
    EXPECT_EQ(generator.length(), generator.capacity());
  }
}

TEST(Generator, WhatCannotBeWrittenIsRefusedAndTheTextGoesOn) {
  Settings settings = small_model(2);
  settings.seq = 16;
  Generator generator(settings), sound(settings);
  generator.feed(std::span(kText).first(4));
  sound.feed(std::span(kText).first(4));
  int asked = 0;
  const auto writing = [&] {
    generator.write([&](const auto&) -> std::optional<int32_t> { return asked++ < 3 ? 5 : 53; });
  };
  EXPECT_THAT(error_of(writing), HasSubstr("token 53"));
  EXPECT_EQ(generator.length(), 7);
  const std::vector<int32_t> five{5}, last{9};
  for (int token = 0; token < 3; ++token) sound.feed(five);
  EXPECT_TRUE(same_bits(generator.feed(last), sound.feed(last)));
  EXPECT_THAT(error_of([&] { generator.write([](const auto&) { return std::optional<int32_t>(1); }); }),
              HasSubstr("longer than the 16"));
  EXPECT_EQ(generator.length(), generator.capacity());
}

TEST(Generator, TDoesNotChangeTheText) {
  Sampling sampling;
  sampling.seed = 7;
  const auto sampled = written(sixteen_tokens(1), sampling), likeliest = written(sixteen_tokens(1), greedy());
  EXPECT_NE(sampled, likeliest);
  EXPECT_EQ(written(sixteen_tokens(1), sampling), sampled);
  sampling.seed = 8;
  EXPECT_NE(written(sixteen_tokens(1), sampling), sampled);
  sampling.seed = 7;
  for (const int tp : {2, 3, 5}) {
    EXPECT_EQ(written(sixteen_tokens(tp), sampling), sampled) << tp;
    EXPECT_EQ(written(sixteen_tokens(tp), greedy()), likeliest) << tp;
  }
}

TEST(Generator, ThreadsDoNotChangeTheBits) {
  Settings settings = sixteen_tokens(2, DType::Fp32);
  const auto logits = [&](int threads) {
    settings.threads_per_rank = threads;
    Generator generator(settings);
    generator.feed(std::span(kText).first(6));
    return generator.feed(std::span(kText).subspan(6, 1));
  };
  EXPECT_EQ(logits(3), logits(1));
}

// A rank keeps the keys and values of its own heads alone, in the bytes that were planned.
TEST(Generator, TheCacheIsCutBetweenHeads) {
  Generator generator(sixteen_tokens(3));
  generator.feed(kText);
  const Plan& plan = generator.plan();
  int found = 0;
  for (const Tensor& tensor : plan.program.tensors) {
    if (tensor.name != "h.0.attn.keys" && tensor.name != "h.1.attn.values") continue;
    ++found;
    EXPECT_EQ(tensor.shape, (Shape{16, 5, 8}));
    EXPECT_EQ(local_shape(tensor, 3, 0), (Shape{16, 2, 8}));
    EXPECT_EQ(local_shape(tensor, 3, 2), (Shape{16, 1, 8}));
  }
  EXPECT_EQ(found, 2);
  const auto kind = static_cast<size_t>(MemoryKind::KeyValueCache);
  EXPECT_EQ(plan.memory[0].arena_bytes[kind],
            2 * 2 * 16 * 2 * 8 * 8);  // layers, K and V, tokens, heads, d, B
  EXPECT_EQ(plan.memory[2].arena_bytes[kind], 2 * 2 * 16 * 1 * 8 * 8);
  generator = Generator(sixteen_tokens(3));
  generator.feed(std::span(kText).first(1));
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(generator.executor().high_water_bytes(rank),
              generator.plan().memory[static_cast<size_t>(rank)].arena_bytes);
}

TEST(Generator, AFreshTextDoesNotRememberTheOneBefore) {
  Generator first(sixteen_tokens(2));
  const auto logits = first.feed(std::vector<int32_t>{1, 2, 3});
  Generator second(sixteen_tokens(2));
  second.feed(std::vector<int32_t>{1});
  EXPECT_LT(relative_error(second.feed(std::vector<int32_t>{2, 3}), logits), 1e-14);
}

TEST(Generator, WhatHasNoRoomOrNoPlaceIsRefused) {
  Generator generator(sixteen_tokens(1));
  EXPECT_THAT(error_of([&] { generator.feed(std::vector<int32_t>(17, 1)); }), HasSubstr("17 tokens"));
  EXPECT_THAT(error_of([&] { generator.feed(std::vector<int32_t>{53}); }), HasSubstr("token 53"));
  EXPECT_THAT(error_of([&] { generator.feed({}); }), HasSubstr("at least one"));
  EXPECT_THAT(error_of([] { Generator(testing::small_bert(1)); }), HasSubstr("encoder"));
  generator.feed(kText);
  EXPECT_THAT(error_of([&] { generator.feed(std::vector<int32_t>{1}); }), HasSubstr("longer than the 16"));
}

// The positions are an input of the Program: what lies outside the cache is not written to.
TEST(Generator, APositionOutsideTheCacheIsRefusedByTheRank) {
  Settings settings = sixteen_tokens(2);
  settings.batch = 1;
  settings.seq = 2;
  settings.cache_tokens = 8;
  for (const auto& positions : std::vector<std::vector<int32_t>>{{7, 8}, {-1, 0}, {3, 5}}) {
    Executor executor(make_plan(plan_program(settings)));
    PassInputs inputs;
    Batch batch;
    batch.tokens = {1, 2};
    batch.positions = positions;
    inputs.batch = std::make_shared<const Batch>(batch);
    executor.wait();
    executor.set_inputs(inputs);
    executor.start(executor.steps());
    EXPECT_THAT(error_of([&] { executor.wait(); }), HasSubstr("position")) << positions[0];
  }
}

// Weights lie in panels where tokens are written, which nobody sees who reads or writes them.
TEST(Generator, ItsWeightsReadAsTheyWereFed) {
  Settings settings = sixteen_tokens(2, DType::Bf16);
  settings.model.hidden = 320;  // of which a rank's slices fill panels
  settings.model.ffn = 700;
  const Generator generator(settings);
  const Program& program = generator.plan().program;
  const Executor& executor = generator.executor();
  const Feed feed(program);
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != MemoryKind::Weight) continue;
    for (int rank = 0; rank < program.tp(); ++rank) {
      const auto bytes = static_cast<size_t>(local_bytes(tensor, program.tp(), rank));
      std::vector<std::byte> fed(bytes), read(bytes);
      feed.fill(tensor, rank, 1, fed.data());
      executor.read_tensor(rank, tensor.id, read.data());
      EXPECT_EQ(read, fed) << tensor.name << ", rank " << rank;
    }
  }
}

// Which of them do: what a token is multiplied with, but not the embedding, whose rows are looked up, nor any
// of a Program that computes a loss.
TEST(Generator, OnlyWhatTokensAreMultipliedWithLiesInPanels) {
  const auto in_panels = [](const Program& program) {
    const auto device = make_cpu_device(1);
    const MemoryPlan memory = plan_memory(program, 0);
    const Arenas arenas(*device, program, memory);
    std::vector<std::string> names;
    for (const Tensor& tensor : program.tensors)
      if (arenas.panel_cols(tensor.id) > 0) names.push_back(tensor.name);
    return names;
  };
  Settings settings = sixteen_tokens(2);
  EXPECT_TRUE(in_panels(plan_evaluation(settings)).empty());
  settings.batch = 1;
  settings.cache_tokens = kRoom;
  for (const int64_t tokens : {1, 7}) {
    settings.seq = tokens;
    EXPECT_THAT(
        in_panels(plan_program(settings)),
        ::testing::ElementsAre("transformer.h.0.attn.c_attn.weight", "transformer.h.0.attn.c_proj.weight",
                               "transformer.h.0.mlp.c_fc.weight", "transformer.h.0.mlp.c_proj.weight",
                               "transformer.h.1.attn.c_attn.weight", "transformer.h.1.attn.c_proj.weight",
                               "transformer.h.1.mlp.c_fc.weight", "transformer.h.1.mlp.c_proj.weight"));
  }
}

}  // namespace generator_test
}  // namespace shardlens
