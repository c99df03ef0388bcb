// Compares attention and its gradient with their definitions, for several heads, threads and formats.
#include <gtest/gtest.h>

#include "engine/device/device.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace attention_test {

struct Result {
  std::vector<double> probs, context;
};

int64_t tokens(const Attention& s) {
  return s.batch * s.seq;
}

template <class T>
Result reference(const Attention& s, const std::vector<T>& qkv) {
  Result result{std::vector<double>(static_cast<size_t>(tokens(s) * s.heads * s.seq)),
                std::vector<double>(static_cast<size_t>(tokens(s) * s.heads * s.head_dim))};
  const auto at = [&](int64_t token, int64_t part, int64_t head, int64_t i) {
    return static_cast<double>(
        qkv[static_cast<size_t>(((token * 3 + part) * s.heads + head) * s.head_dim + i)]);
  };
  for (int64_t token = 0; token < tokens(s); ++token)
    for (int64_t head = 0; head < s.heads; ++head) {
      const int64_t first = token / s.seq * s.seq, last = s.causal ? token : first + s.seq - 1;
      double* probs = result.probs.data() + (token * s.heads + head) * s.seq;
      double* context = result.context.data() + (token * s.heads + head) * s.head_dim;
      double top = -INFINITY, sum = 0;
      for (int64_t key = first; key <= last; ++key) {
        double score = 0;
        for (int64_t i = 0; i < s.head_dim; ++i) score += at(token, 0, head, i) * at(key, 1, head, i);
        probs[key - first] = score / std::sqrt(static_cast<double>(s.head_dim));
        top = std::max(top, probs[key - first]);
      }
      for (int64_t key = first; key <= last; ++key)
        sum += probs[key - first] = std::exp(probs[key - first] - top);
      for (int64_t key = first; key <= last; ++key) {
        probs[key - first] /= sum;
        for (int64_t i = 0; i < s.head_dim; ++i) context[i] += probs[key - first] * at(key, 2, head, i);
      }
    }
  return result;
}

/// dQKV by the definition, from its own P.
template <class T>
std::vector<double> reference_gradient(const Attention& s, const std::vector<T>& qkv,
                                       const std::vector<T>& dcontext) {
  const std::vector<double> all_probs = reference(s, qkv).probs;
  std::vector<double> dqkv(qkv.size());
  const auto index = [&](int64_t token, int64_t part, int64_t head) {
    return static_cast<size_t>(((token * 3 + part) * s.heads + head) * s.head_dim);
  };
  const auto width = static_cast<size_t>(s.head_dim);
  for (int64_t token = 0; token < tokens(s); ++token)
    for (int64_t head = 0; head < s.heads; ++head) {
      const int64_t first = token / s.seq * s.seq;
      const double* probs = all_probs.data() + (token * s.heads + head) * s.seq;
      const T* dc = dcontext.data() + (token * s.heads + head) * s.head_dim;
      std::vector<double> dprobs(static_cast<size_t>(s.seq));
      double delta = 0;
      for (int64_t key = 0; key < s.seq; ++key) {
        double& dprob = dprobs[static_cast<size_t>(key)];
        for (size_t i = 0; i < width; ++i) {
          dprob += static_cast<double>(dc[i]) * static_cast<double>(qkv[index(first + key, 2, head) + i]);
          dqkv[index(first + key, 2, head) + i] += probs[key] * static_cast<double>(dc[i]);
        }
        delta += probs[key] * dprob;
      }
      for (int64_t key = 0; key < s.seq; ++key) {
        const double dscore =
            probs[key] * (dprobs[static_cast<size_t>(key)] - delta) / std::sqrt(static_cast<double>(width));
        for (size_t i = 0; i < width; ++i) {
          dqkv[index(token, 0, head) + i] +=
              dscore * static_cast<double>(qkv[index(first + key, 1, head) + i]);
          dqkv[index(first + key, 1, head) + i] +=
              dscore * static_cast<double>(qkv[index(token, 0, head) + i]);
        }
      }
    }
  return dqkv;
}

template <class T>
struct Forward {
  std::vector<T> probs, context;
  Forward(Device& device, const Attention& s, const std::vector<T>& qkv)
      : probs(static_cast<size_t>(tokens(s) * s.heads * s.seq), T(NAN)),
        context(static_cast<size_t>(tokens(s) * s.heads * s.head_dim), T(NAN)) {
    std::vector<T> workspace(static_cast<size_t>(attention_workspace_elements(s.dtype, s.seq, s.head_dim)),
                             T(NAN));
    Attention op = with_tensors(s, qkv);
    if (s.recompute || s.dropout.probability > 0) op.workspace = workspace.data();
    device.attention(op);
  }
  /// `s` on `qkv` and on what the forward pass leaves.
  Attention with_tensors(Attention s, const std::vector<T>& qkv) {
    s.qkv = qkv.data();
    s.saved = probs.data();
    s.context = context.data();
    return s;
  }
};

template <class T>
std::vector<T> backward(Device& device, const Attention& s, const std::vector<T>& qkv, Forward<T> forward,
                        const std::vector<T>& dcontext) {
  std::vector<T> dqkv(qkv.size(), T(NAN)),
      workspace(static_cast<size_t>(attention_workspace_elements(s.dtype, s.seq, s.head_dim)), T(NAN));
  Attention op = forward.with_tensors(s, qkv);
  op.workspace = workspace.data();
  device.attention_grad({.forward = op, .dcontext = dcontext.data(), .dqkv = dqkv.data()});
  return dqkv;
}

template <class T>
class AttentionTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AttentionTest, Types);

// Tokens and a head's width: of single ones, of parts of a register and of groups of rows, and past a block.
constexpr int64_t kSizes[][2] = {{1, 8}, {2, 1}, {5, 64}, {9, 33}, {64, 8}, {150, 80}, {131, 20}};

TYPED_TEST(AttentionTest, MatchesTheDefinition) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  for (const bool causal : {false, true})
    for (const auto& [seq, width] : kSizes) {
      SCOPED_TRACE(::testing::Message()
                   << seq << " tokens, heads of " << width << (causal ? ", causal" : ""));
      const Attention s{kDType<T>, 2, seq, 3, width, causal};
      const std::vector<T> qkv = normal<T>(tokens(s) * 3 * s.heads * s.head_dim, 7);
      const Forward<T> forward(*device, s, qkv);
      const Result expected = reference(s, qkv);
      EXPECT_LT(relative_error(forward.probs, expected.probs), kBound<T>);
      EXPECT_LT(relative_error(forward.context, expected.context), kBound<T>);
      for (int64_t token = 0; causal && token < tokens(s); ++token)
        for (int64_t key = token % seq + 1; key < seq; ++key)
          ASSERT_EQ(forward.probs[static_cast<size_t>(token * s.heads * seq + key)], T(0));
    }
}

TYPED_TEST(AttentionTest, ItsGradientMatchesTheDefinition) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  for (const bool causal : {false, true})
    for (const auto& [seq, width] : kSizes) {
      if (seq == 1) continue;  // its P is 1, and what is left of dQ and dK is rounding
      SCOPED_TRACE(::testing::Message()
                   << seq << " tokens, heads of " << width << (causal ? ", causal" : ""));
      const Attention s{kDType<T>, 2, seq, 3, width, causal};
      const std::vector<T> qkv = normal<T>(tokens(s) * 3 * s.heads * s.head_dim, 7);
      const std::vector<T> dcontext = normal<T>(tokens(s) * s.heads * s.head_dim, 8);
      EXPECT_LT(relative_error(backward(*device, s, qkv, Forward<T>(*device, s, qkv), dcontext),
                               reference_gradient(s, qkv, dcontext)),
                kBound<T>);
    }
}

TYPED_TEST(AttentionTest, WhatComesLaterChangesNoBits) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  const int64_t heads = 2, width = 24, seq = 150;
  const std::vector<T> qkv = normal<T>(seq * 3 * heads * width, 7);
  const std::vector<T> whole =
      Forward<T>(*device, Attention{kDType<T>, 1, seq, heads, width, true}, qkv).context;
  for (const int64_t first : {1, 37, 64, 140}) {
    const Forward<T> part(*device, Attention{kDType<T>, 1, first, heads, width, true}, qkv);
    EXPECT_TRUE(same_bits(part.context, rows(whole, heads * width, {0, first}))) << first;
  }
}

/// Heads [range) of a tensor [tokens, parts, heads, width].
template <class T>
std::vector<T> heads_of(const std::vector<T>& tensor, int64_t heads, int64_t width, Range range) {
  return columns(tensor, heads * width, {range.begin * width, range.end * width});
}

/// Of `heads` heads of `width` those of a rank in the middle are what they are among all.
template <class T>
void expect_heads_apart(int64_t seq, int64_t heads, int64_t width, int ranks) {
  SCOPED_TRACE(::testing::Message() << seq << " tokens, " << heads << " heads of " << width << ", T "
                                    << ranks);
  const auto device = make_cpu_device(1);
  const Attention whole{kDType<T>, 1, seq, heads, width, true};
  const std::vector<T> qkv = normal<T>(seq * 3 * heads * width, 7),
                       dcontext = normal<T>(seq * heads * width, 8);
  const Forward<T> forward(*device, whole, qkv);
  const std::vector<T> dqkv = backward(*device, whole, qkv, forward, dcontext);
  const Range range = shard_range(heads, ranks, 1);
  Attention shape = whole;
  shape.heads = range.size();
  const std::vector<T> shard = heads_of(qkv, heads, width, range);
  const Forward<T> part(*device, shape, shard);
  EXPECT_TRUE(same_bits(part.probs, heads_of(forward.probs, heads, seq, range)));
  EXPECT_TRUE(same_bits(part.context, heads_of(forward.context, heads, width, range)));
  EXPECT_TRUE(same_bits(backward(*device, shape, shard, part, heads_of(dcontext, heads, width, range)),
                        heads_of(dqkv, heads, width, range)));
}

TYPED_TEST(AttentionTest, AHeadDependsOnNoOtherHead) {
  for (const int64_t seq : {40, 150, 450})  // 450: longer than a product's longest unbroken sum
    for (const int ranks : {2, 5, 12}) expect_heads_apart<TypeParam>(seq, 12, 16, ranks);
  // Rows of 16 and of 8 heads of 64 are multiples of 2 KiB apart, and copied; of 3 and of 1 they are not.
  for (const int ranks : {2, 5, 16}) expect_heads_apart<TypeParam>(150, 16, 64, ranks);
}

TYPED_TEST(AttentionTest, ThreadsDoNotChangeTheBits) {
  using T = TypeParam;
  for (const bool causal : {false, true})
    for (const int64_t seq : {30, 90, 450}) {
      const Attention s{kDType<T>, 3, seq, 5, 16, causal};
      const std::vector<T> qkv = normal<T>(tokens(s) * 3 * 5 * 16, 7),
                           dcontext = normal<T>(tokens(s) * 5 * 16, 8);
      const auto serial = make_cpu_device(1);
      const Forward<T> expected(*serial, s, qkv);
      const std::vector<T> expected_gradient = backward(*serial, s, qkv, expected, dcontext);
      for (const int threads : {2, 5, 12}) {
        const auto device = make_cpu_device(threads);
        const Forward<T> forward(*device, s, qkv);
        EXPECT_TRUE(same_bits(forward.probs, expected.probs)) << seq << " threads " << threads;
        EXPECT_TRUE(same_bits(forward.context, expected.context)) << seq << " threads " << threads;
        EXPECT_TRUE(same_bits(backward(*device, s, qkv, forward, dcontext), expected_gradient))
            << seq << " threads " << threads;
      }
    }
}

TYPED_TEST(AttentionTest, GradientInBothFormatsAgrees) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  const Attention s{kDType<T>, 2, 450, 2, 8, true};
  Attention exact = s;
  exact.dtype = DType::Fp64;
  const std::vector<T> qkv = normal<T>(tokens(s) * 3 * 2 * 8, 7), dcontext = normal<T>(tokens(s) * 2 * 8, 8);
  const std::vector<double> wide(qkv.begin(), qkv.end()), dwide(dcontext.begin(), dcontext.end());
  EXPECT_LT(relative_error(backward(*device, s, qkv, Forward<T>(*device, s, qkv), dcontext),
                           backward(*device, exact, wide, Forward<double>(*device, exact, wide), dwide)),
            kBound<T>);
}

TYPED_TEST(AttentionTest, LargeScoresDoNotOverflow) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  const Attention s{kDType<T>, 1, 20, 1, 4, false};
  const std::vector<T> qkv = normal<T>(20 * 3 * 4, 7, 0, 50);
  const Forward<T> forward(*device, s, qkv);
  EXPECT_LT(relative_error(forward.probs, reference(s, qkv).probs), 1e3 * kBound<T>);
}

TYPED_TEST(AttentionTest, NanInAKeyReachesTheQueriesThatSeeIt) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  const Attention s{kDType<T>, 2, 100, 2, 8, true};
  std::vector<T> qkv = normal<T>(tokens(s) * 3 * 2 * 8, 7);
  const int64_t broken = 130;                                         // token 30 of the second sequence
  qkv[static_cast<size_t>(((broken * 3 + 1) * 2 + 1) * 8)] = T(NAN);  // its key, second head
  const Forward<T> forward(*device, s, qkv);
  for (int64_t token = 0; token < tokens(s); ++token)
    for (int64_t head = 0; head < 2; ++head)
      EXPECT_EQ(std::isnan(forward.context[static_cast<size_t>((token * 2 + head) * 8)]),
                head == 1 && token >= broken)
          << token << " " << head;
}

TYPED_TEST(AttentionTest, ARankMayHoldNoHeads) {
  using T = TypeParam;
  const auto device = make_cpu_device(2);
  const Attention s{kDType<T>, 2, 10, 0, 8, true};
  const Forward<T> forward(*device, s, {});
  EXPECT_TRUE(backward(*device, s, {}, forward, {}).empty());
}

Attention with_dropout(Attention s, double probability) {
  s.dropout = {probability, 11, 0xABCDEF};
  s.all_heads = s.heads;
  return s;
}

// Not keeping P saves its memory and costs no bit.
TYPED_TEST(AttentionTest, ComputingProbabilitiesAgainGivesTheSameBits) {
  using T = TypeParam;
  std::vector<int32_t> mask(3 * 150, 1);
  for (size_t i = 0; i < mask.size(); i += 4) mask[i] = 0;
  for (const int threads : {1, 3})
    for (const bool causal : {false, true})
      for (const double probability : {0.0, 0.3})
        for (const int64_t seq : {30, 150}) {
          const auto device = make_cpu_device(threads);
          Attention s = with_dropout({kDType<T>, 3, seq, 2, 16, causal}, probability);
          if (!causal) s.mask = mask.data();
          Attention again = s;
          again.recompute = true;
          const std::vector<T> qkv = normal<T>(tokens(s) * 3 * 2 * 16, 7),
                               dcontext = normal<T>(tokens(s) * 2 * 16, 8);
          const Forward<T> kept(*device, s, qkv), computed(*device, again, qkv);
          EXPECT_TRUE(same_bits(kept.context, computed.context)) << seq << causal << probability;
          EXPECT_TRUE(same_bits(backward(*device, s, qkv, kept, dcontext),
                                backward(*device, again, qkv, computed, dcontext)))
              << seq << causal << probability;
          EXPECT_TRUE(std::isnan(computed.probs[static_cast<size_t>(tokens(s) * 2 * 2)]))
              << "more than the rows' statistics was kept";
        }
}

TEST(AttentionGradTest, MatchesCentralDifferencesWithAFixedMask) {
  const auto device = make_cpu_device(1);
  for (const bool causal : {false, true}) {
    const Attention s = with_dropout({DType::Fp64, 2, 70, 1, 2, causal}, 0.25);
    const std::vector<double> qkv = normal<double>(tokens(s) * 3 * s.heads * s.head_dim, 5);
    const std::vector<double> dcontext = normal<double>(tokens(s) * s.heads * s.head_dim, 6);
    const std::vector<double> dqkv = backward(*device, s, qkv, Forward<double>(*device, s, qkv), dcontext);
    const auto loss = [&](const std::vector<double>& at) {
      return dot(Forward<double>(*device, s, at).context, dcontext);
    };
    EXPECT_LT(relative_error(dqkv, finite_differences(qkv, loss)), 1e-8) << causal;
  }
}

// With values of one, C is the row sum of P∘M: its mean over many rows is 1 when the kept part is scaled up
// as it must be, and the share of zeros is the probability.
TYPED_TEST(AttentionTest, DropoutDropsAsOftenAsAskedAndKeepsTheMean) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  const Attention s = with_dropout({kDType<T>, 1, 128, 4, 16, false}, 0.25);
  std::vector<T> qkv(static_cast<size_t>(tokens(s) * 3 * 4 * 16), T(0));  // P is 1/128 everywhere
  for (int64_t token = 0; token < tokens(s); ++token)
    for (int64_t i = 0; i < 4 * 16; ++i) qkv[static_cast<size_t>((token * 3 + 2) * 4 * 16 + i)] = T(1);
  const Forward<T> forward(*device, s, qkv);
  double sum = 0;
  std::vector<T> rows;
  for (int64_t row = 0; row < tokens(s) * 4; ++row) {
    rows.push_back(forward.context[static_cast<size_t>(row * 16)]);
    sum += static_cast<double>(rows.back());
  }
  // A row sum has variance p/(1-p)/128 = 1/384, the mean of 512 of them a standard error of 0.0023.
  EXPECT_NEAR(sum / 512, 1.0, 5 * 0.0023);
  std::sort(rows.begin(), rows.end());
  EXPECT_GT(rows.back() - rows.front(), T(0.1)) << "every row has the same mask";
}

// A rank that holds some heads, of a replica that holds some tokens, sees its part of the whole's mask.
TYPED_TEST(AttentionTest, DropoutIsDrawnByGlobalElement) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  const int64_t seq = 70;
  const Attention whole = with_dropout({kDType<T>, 2, seq, 5, 16, true}, 0.3);
  const std::vector<T> qkv = normal<T>(tokens(whole) * 3 * 5 * 16, 7);
  const Forward<T> forward(*device, whole, qkv);
  for (int rank = 0; rank < 3; ++rank)
    for (int replica = 0; replica < 2; ++replica) {
      const Range range = shard_range(5, 3, rank);
      Attention shape = whole;
      shape.batch = 1;
      shape.heads = range.size();
      shape.first_head = range.begin;
      shape.first_token = replica * seq;
      const auto rows = [&](std::vector<T> tensor, int64_t width) {
        tensor.erase(tensor.begin(), tensor.begin() + replica * seq * width);
        tensor.resize(static_cast<size_t>(seq * width));
        return tensor;
      };
      const Forward<T> part(*device, shape, rows(heads_of(qkv, 5, 16, range), 3 * range.size() * 16));
      EXPECT_TRUE(same_bits(part.context, rows(heads_of(forward.context, 5, 16, range), range.size() * 16)))
          << "rank " << rank << " replica " << replica;
    }
}

}  // namespace attention_test
}  // namespace shardlens
