// Grouped-query attention: compares a layer with plain loops, and every cut of it, with T up to the number of
// key heads and beyond, with the serial run.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "engine/base/error.h"
#include "engine/config/heads.h"
#include "engine/io/safetensors.h"
#include "engine/train/model_state.h"
#include "engine/train/model_step.h"
#include "tests/engine/device/operands.h"
#include "tests/engine/parity_outcome.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace grouped_query_test {

using testing::compare;
using testing::Outcome;
using testing::small_bert;
using testing::small_model;

Settings grouped(Settings settings, int64_t heads, int64_t key_heads) {
  settings.model.heads = heads;
  settings.model.kv_heads = key_heads;
  settings.model.hidden = heads * 4;
  settings.dtype = DType::Fp64;
  settings.heads_policy = HeadsPolicy::Strict;
  return settings;
}

std::string words(const Settings& s) {
  return std::to_string(s.model.heads) + " heads, " + std::to_string(s.model.kv_heads) + " key heads, T " +
         std::to_string(s.tp) + ", qkv " + to_string(s.split.attn_qkv) + ", proj " +
         to_string(s.split.attn_proj) + ", norm " + to_string(s.split.norm) + ", " +
         to_string(s.heads_policy) + ", " + to_string(s.model.objective);
}

std::vector<double> doubles(const SerialReference& reference, const std::string& value) {
  if (reference.find(value) == nullptr) throw std::out_of_range(value);
  const std::vector<std::byte>& bytes = *reference.find(value);
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// The attention block written down again from its definition: Y = softmax(Q Kᵀ / √d) V Wo + b, query head j
// with key head j / group.
std::vector<double> straight_attention(const Settings& s, const SerialReference& ref) {
  const std::string names = "transformer.h.0.attn.";
  const std::vector<double> x = doubles(ref, "X"), wq = doubles(ref, names + "c_attn.q.weight"),
                            bq = doubles(ref, names + "c_attn.q.bias"),
                            wkv = doubles(ref, names + "c_attn.kv.weight"),
                            bkv = doubles(ref, names + "c_attn.kv.bias"),
                            wo = doubles(ref, names + "c_proj.weight"),
                            bo = doubles(ref, names + "c_proj.bias");
  const int64_t hidden = s.model.hidden, d = s.model.head_dim(), keys = s.model.kv_heads;
  const int64_t group = s.model.heads / keys, kv_width = 2 * keys * d;
  const auto dense = [](const std::vector<double>& in, const std::vector<double>& w,
                        const std::vector<double>& b, int64_t rows, int64_t inner, int64_t cols) {
    std::vector<double> out(static_cast<size_t>(rows * cols));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c) {
        double sum = b[static_cast<size_t>(c)];
        for (int64_t i = 0; i < inner; ++i)
          sum += in[static_cast<size_t>(r * inner + i)] * w[static_cast<size_t>(i * cols + c)];
        out[static_cast<size_t>(r * cols + c)] = sum;
      }
    return out;
  };
  const int64_t tokens = s.tokens();
  const std::vector<double> q = dense(x, wq, bq, tokens, hidden, hidden),
                            kv = dense(x, wkv, bkv, tokens, hidden, kv_width);
  std::vector<double> context(static_cast<size_t>(tokens * hidden), 0);
  for (int64_t t = 0; t < tokens; ++t) {
    const int64_t first = t / s.seq * s.seq;
    for (int64_t head = 0; head < s.model.heads; ++head) {
      const int64_t key_head = head / group;
      std::vector<double> weight;
      double sum = 0;
      for (int64_t key = first; key <= t; ++key) {
        double score = 0;
        for (int64_t i = 0; i < d; ++i)
          score += q[static_cast<size_t>(t * hidden + head * d + i)] *
                   kv[static_cast<size_t>(key * kv_width + key_head * d + i)];
        weight.push_back(std::exp(score / std::sqrt(static_cast<double>(d))));
        sum += weight.back();
      }
      for (int64_t key = first; key <= t; ++key)
        for (int64_t i = 0; i < d; ++i)
          context[static_cast<size_t>(t * hidden + head * d + i)] +=
              weight[static_cast<size_t>(key - first)] / sum *
              kv[static_cast<size_t>(key * kv_width + (keys + key_head) * d + i)];
    }
  }
  return dense(context, wo, bo, tokens, hidden, hidden);
}

TEST(GroupedQueries, AreWhatPlainLoopsSay) {
  for (const int64_t key_heads : {1, 2, 3}) {
    Settings settings = grouped(testing::small_layer(1), 6, key_heads);
    settings.block = Block::Attention;
    auto values = std::make_shared<SerialReference>();
    testing::run(make_plan(settings), {values});
    EXPECT_LT(relative_error(doubles(*values, "attn.proj.out"), straight_attention(settings, *values)), 1e-14)
        << key_heads;
  }
}

class GroupedCuts : public ::testing::TestWithParam<std::tuple<Cut, Cut, NormCut>> {};

// T below, at and above the number of key heads; what it divides and what it does not.
TEST_P(GroupedCuts, AgreeWithSerial) {
  int number = 0;
  for (const auto& [heads, key_heads] : {std::pair{4, 2}, {6, 3}, {8, 2}, {4, 1}}) {
    for (int tp = 2; tp <= 8; ++tp) {
      Settings settings = grouped(++number % 2 ? small_model(tp) : small_bert(tp), heads, key_heads);
      settings.model.layers = 1;
      std::tie(settings.split.attn_qkv, settings.split.attn_proj, settings.split.norm) = GetParam();
      if (!divides_heads(settings.model, tp)) settings.heads_policy = HeadsPolicy::Uneven;
      settings.dropout = number % 3 == 0 ? 0.2 : 0;
      settings.recompute = number % 4 == 0 ? Recompute::Selective : Recompute::None;
      settings.micro_batches = number % 5 == 0 ? 2 : 1;
      const Outcome outcome = compare(settings);
      ASSERT_TRUE(outcome.summary.agrees)
          << words(settings) << ": " << outcome.first_broken() << " " << outcome.summary.worst_relative_error;
      ASSERT_NE(outcome.of("clip"), nullptr);
      for (const Tensor& tensor : outcome.program.tensors) {
        if (tensor.kind != MemoryKind::Weight || tensor.storage != kNoTensor) continue;
        ASSERT_NE(outcome.of("grad." + tensor.name), nullptr) << words(settings) << ": " << tensor.name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Grouped, GroupedCuts,
                         ::testing::Combine(::testing::Values(Cut::Column, Cut::Row, Cut::Replicated),
                                            ::testing::Values(Cut::Column, Cut::Row, Cut::Replicated),
                                            ::testing::Values(NormCut::Replicated, NormCut::Parallel,
                                                              NormCut::Sequence)),
                         [](const auto& param) {
                           return to_string(std::get<0>(param.param)) + "_" +
                                  to_string(std::get<1>(param.param)) + "_" +
                                  to_string(std::get<2>(param.param));
                         });

TEST(GroupedQueries, PaddedKeyHeadsAgreeWithSerial) {
  for (const auto& [heads, key_heads, tp] : {std::tuple{6, 3, 2}, {10, 5, 2}, {10, 5, 3}, {10, 5, 4}}) {
    Settings settings = grouped(small_model(tp), heads, key_heads);
    settings.heads_policy = HeadsPolicy::Padded;
    settings.dropout = 0.1;
    const Outcome outcome = compare(settings);
    EXPECT_TRUE(outcome.summary.agrees)
        << words(settings) << ": " << outcome.first_broken() << " " << outcome.summary.worst_relative_error;
  }
}

TEST(GroupedQueries, IntegersSumExactly) {
  for (const int tp : {2, 3, 4, 5}) {
    Settings settings = grouped(testing::small_layer(tp), 8, 4);
    settings.dtype = DType::Fp32;
    settings.operands = Operands::Integer;
    if (tp % 2 == 1) settings.heads_policy = HeadsPolicy::Uneven;
    if (tp > 4) {
      EXPECT_THROW(plan_program(settings), Error);  // a key head's gradient is a sum over ranks
      continue;
    }
    const Outcome outcome = compare(settings);
    EXPECT_TRUE(outcome.summary.agrees) << tp << ": " << outcome.first_broken();
  }
}

TEST(GroupedQueries, HalfPrecisionAndReplicasHold) {
  for (const DType dtype : {DType::Bf16, DType::Fp16, DType::Fp32}) {
    for (const auto& [tp, dp] : {std::pair{2, 1}, {4, 2}, {8, 1}}) {
      Settings settings = grouped(small_model(tp, dp), 8, 2);
      settings.dtype = dtype;
      const Outcome outcome = compare(settings);
      EXPECT_TRUE(outcome.summary.agrees)
          << to_string(dtype) << " T " << tp << " D " << dp << ": " << outcome.first_broken() << " "
          << outcome.summary.worst_relative_error;
    }
  }
}

int count(const Program& program, Op op, Conjugate mark) {
  int found = 0;
  for (const Step& step : program.steps)
    found += step.op == op && step.conjugate == mark && step.layer == 0 && step.part == Part::Attention;
  return found;
}

// One f for queries, keys and values; above the key heads' number, their weights' gradients are summed among
// the ranks that hold the same ones, and nothing else is sent.
TEST(GroupedQueries, HaveOneFAndSumSharedGradientsInTheirSubgroups) {
  for (const int tp : {2, 4, 8}) {
    Settings settings = grouped(small_model(tp), 8, 2);
    const Program program = plan_program(settings);
    EXPECT_EQ(count(program, Op::AllReduce, Conjugate::F), 1) << tp;
    int64_t shared_bytes = 0;
    for (const Step& step : program.steps) {
      if (!is_among_copies(program, step)) continue;
      EXPECT_EQ(group_ranks(program, step), tp / 2);
      EXPECT_NE(explain(program, step.id).find("among those " + std::to_string(tp / 2) + " ranks"),
                std::string::npos);
      shared_bytes += sent_bytes(program, step.id);
    }
    const int64_t slice = (32 + 1) * 2 * 4 * 8;  // [hidden + bias, K and V, head_dim] of one key head in fp64
    const int64_t others = tp / 2 - 1;
    EXPECT_EQ(shared_bytes, settings.model.layers * (2 * (slice - 2 * 4 * 8) * others / (tp / 2) +
                                                     2 * (2 * 4 * 8) * others / (tp / 2)))
        << tp;
  }
}

TEST(GroupedQueries, TheCacheHoldsTheKeyHeadsAlone) {
  const auto cache_bytes = [](int64_t key_heads, int tp) {
    Settings settings = grouped(small_model(tp), 8, key_heads);
    settings.cache_tokens = 16;
    settings.seq = 1;
    settings.update = false;
    return plan_memory(plan_program(settings), 0).arena_bytes[static_cast<size_t>(MemoryKind::KeyValueCache)];
  };
  EXPECT_EQ(cache_bytes(2, 1) * 4, cache_bytes(8, 1));
  EXPECT_EQ(cache_bytes(2, 2) * 2, cache_bytes(2, 1));
  EXPECT_EQ(cache_bytes(2, 8), cache_bytes(2, 2));  // one head each, held by four
}

// A checkpoint has queries, keys and values in one matrix, whatever T.
TEST(GroupedQueries, AreStoredAsOneMatrix) {
  const auto dump = [](int tp, Settings (*model)(int, int, const std::string&)) {
    ModelStepRequest request;
    request.updates = 2;
    request.learning_rate = 1e-3;
    request.dump = true;
    Settings settings = grouped(model(tp, 1, "megatron"), 8, 2);
    settings.vocab_ranks = 4;
    return run_model_step(make_plan(settings), request).dump;
  };
  const auto gpt = dump(1, small_model), cut = dump(4, small_model);
  const std::string name = "param.transformer.h.1.attn.c_attn.weight";
  EXPECT_EQ(gpt.at(name).shape, (Shape{32, 32 + 2 * 2 * 4}));
  EXPECT_EQ(gpt.at("grad.transformer.h.1.attn.c_attn.bias").shape, (Shape{48}));
  EXPECT_EQ(gpt.count("param.transformer.h.1.attn.c_attn.q.weight"), 0u);
  for (int64_t i = 0; i < 32 * 48; ++i) {
    const auto at = static_cast<size_t>(i);
    const double one = element_of(DType::Fp64, gpt.at(name).bytes.data(), at);
    ASSERT_NE(one, 0) << i;  // every column was written
    ASSERT_NEAR(element_of(DType::Fp64, cut.at(name).bytes.data(), at), one, 1e-12) << i;
  }
  // Read back, each rank its own slices.
  const std::string file = ::testing::TempDir() + "grouped_" + std::to_string(getpid()) + ".safetensors";
  std::vector<TensorToStore> stored;
  for (const auto& [dumped, tensor] : gpt)
    if (dumped.starts_with("param."))
      stored.push_back({dumped.substr(6), tensor.dtype, tensor.shape, tensor.bytes.data()});
  write_safetensors(file, stored);
  Settings settings = grouped(small_model(4), 8, 2);
  settings.weights_path = file;
  EXPECT_TRUE(compare(settings).summary.agrees);
  settings.tp = 1;
  auto values = std::make_shared<SerialReference>();
  testing::run(make_plan(settings), {values});
  const std::vector<double> kv = doubles(*values, "transformer.h.1.attn.c_attn.kv.weight");
  ASSERT_EQ(kv.size(), 32u * 16u);
  for (size_t i = 0; i < kv.size(); ++i)
    ASSERT_EQ(kv[i], element_of(DType::Fp64, gpt.at(name).bytes.data(), i / 16 * 48 + 32 + i % 16)) << i;
  std::remove(file.c_str());
  const auto bert = dump(2, small_bert);
  EXPECT_EQ(bert.at("param.bert.encoder.layer.0.attention.self.query.weight").shape, (Shape{32, 32}));
  EXPECT_EQ(bert.at("param.bert.encoder.layer.0.attention.self.key.weight").shape, (Shape{8, 32}));
  EXPECT_EQ(bert.at("param.bert.encoder.layer.0.attention.self.value.bias").shape, (Shape{8}));
}

}  // namespace grouped_query_test
}  // namespace shardlens
