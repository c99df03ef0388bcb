// Attention against its definition; heads, threads and formats. (finite_difference_test.cpp has its
// gradient.)
#include <gtest/gtest.h>

#include "engine/device/device.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace {

struct Result {
  std::vector<double> probs, context;
};

int64_t tokens(const AttentionShape& s) {
  return s.batch * s.seq;
}

template <class T>
Result reference(const AttentionShape& s, const std::vector<T>& qkv) {
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

template <class T>
struct Forward {
  std::vector<T> probs, context;
  Forward(Device& device, const AttentionShape& s, const std::vector<T>& qkv)
      : probs(static_cast<size_t>(tokens(s) * s.heads * s.seq), T(NAN)),
        context(static_cast<size_t>(tokens(s) * s.heads * s.head_dim), T(NAN)) {
    device.attention(s, qkv.data(), probs.data(), context.data());
  }
};

template <class T>
std::vector<T> backward(Device& device, const AttentionShape& s, const std::vector<T>& qkv,
                        Forward<T> forward, const std::vector<T>& dcontext) {
  std::vector<T> dqkv(qkv.size(), T(NAN)),
      workspace(static_cast<size_t>(attention_workspace_elements(s.seq)));
  device.attention_grad(s, qkv.data(), forward.probs.data(), forward.context.data(), dcontext.data(),
                        dqkv.data(), workspace.data());
  return dqkv;
}

template <class T>
class AttentionTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(AttentionTest, Types);

TYPED_TEST(AttentionTest, MatchesTheDefinition) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  for (const bool causal : {false, true})
    for (const int64_t seq : {1, 5, 64, 150}) {
      const AttentionShape s{kDType<T>, 2, seq, 3, 8, causal};
      const std::vector<T> qkv = normal<T>(tokens(s) * 3 * s.heads * s.head_dim, 7);
      const Forward<T> forward(*device, s, qkv);
      const Result expected = reference(s, qkv);
      EXPECT_LT(relative_error(forward.probs, expected.probs), kBound<T>) << seq << causal;
      EXPECT_LT(relative_error(forward.context, expected.context), kBound<T>) << seq << causal;
      for (int64_t token = 0; causal && token < tokens(s); ++token)
        for (int64_t key = token % seq + 1; key < seq; ++key)
          ASSERT_EQ(forward.probs[static_cast<size_t>(token * s.heads * seq + key)], T(0));
    }
}

/// Heads [range) of a tensor [tokens, parts, heads, width].
template <class T>
std::vector<T> heads_of(const std::vector<T>& tensor, int64_t heads, int64_t width, Range range) {
  return columns(tensor, heads * width, {range.begin * width, range.end * width});
}

TYPED_TEST(AttentionTest, AHeadDependsOnNoOtherHead) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  for (const int64_t seq : {40, 150, 450}) {  // 450: longer than a product's longest unbroken sum
    const AttentionShape whole{kDType<T>, 1, seq, 12, 16, true};
    const std::vector<T> qkv = normal<T>(tokens(whole) * 3 * 12 * 16, 7),
                         dcontext = normal<T>(tokens(whole) * 12 * 16, 8);
    const Forward<T> forward(*device, whole, qkv);
    const std::vector<T> dqkv = backward(*device, whole, qkv, forward, dcontext);
    for (const int ranks : {2, 5, 12}) {
      const Range range = shard_range(12, ranks, 1);
      AttentionShape shape = whole;
      shape.heads = range.size();
      const std::vector<T> shard = heads_of(qkv, 12, 16, range);
      const Forward<T> part(*device, shape, shard);
      EXPECT_TRUE(same_bits(part.probs, heads_of(forward.probs, 12, seq, range))) << seq << " T " << ranks;
      EXPECT_TRUE(same_bits(part.context, heads_of(forward.context, 12, 16, range))) << seq << " T " << ranks;
      EXPECT_TRUE(same_bits(backward(*device, shape, shard, part, heads_of(dcontext, 12, 16, range)),
                            heads_of(dqkv, 12, 16, range)))
          << seq << " T " << ranks;
    }
  }
}

TYPED_TEST(AttentionTest, ThreadsDoNotChangeTheBits) {
  using T = TypeParam;
  for (const bool causal : {false, true})
    for (const int64_t seq : {30, 90, 450}) {
      const AttentionShape s{kDType<T>, 3, seq, 5, 16, causal};
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
  const AttentionShape s{kDType<T>, 2, 450, 2, 8, true};
  AttentionShape exact = s;
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
  const AttentionShape s{kDType<T>, 1, 20, 1, 4, false};
  const std::vector<T> qkv = normal<T>(20 * 3 * 4, 7, 0, 50);
  const Forward<T> forward(*device, s, qkv);
  EXPECT_LT(relative_error(forward.probs, reference(s, qkv).probs), 1e3 * kBound<T>);
}

TYPED_TEST(AttentionTest, NanInAKeyReachesTheQueriesThatSeeIt) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  const AttentionShape s{kDType<T>, 2, 100, 2, 8, true};
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
  const AttentionShape s{kDType<T>, 2, 10, 0, 8, true};
  const Forward<T> forward(*device, s, {});
  EXPECT_TRUE(backward(*device, s, {}, forward, {}).empty());
}

}  // namespace
}  // namespace shardlens
