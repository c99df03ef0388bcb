// Attention against its definition, and its gradient against central differences.
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

TEST(AttentionGradTest, MatchesCentralDifferences) {
  const auto device = make_cpu_device(1);
  for (const bool causal : {false, true}) {
    const AttentionShape s{DType::Fp64, 2, 70, 1, 2, causal};
    const std::vector<double> qkv = normal<double>(tokens(s) * 3 * s.heads * s.head_dim, 5);
    const std::vector<double> dcontext = normal<double>(tokens(s) * s.heads * s.head_dim, 6);
    const std::vector<double> dqkv = backward(*device, s, qkv, Forward<double>(*device, s, qkv), dcontext);
    const auto loss = [&](const std::vector<double>& at) {
      return dot(Forward<double>(*device, s, at).context, dcontext);
    };
    EXPECT_LT(relative_error(dqkv, finite_differences(qkv, loss)), 1e-8) << causal;
  }
}

}  // namespace
}  // namespace shardlens
