// Compares the operations in 16 bits with the same operations in fp32 on the same (rounded) numbers: the
// computation is the same and the result is rounded once. So an element may differ by half a unit in its last
// place, and by a few units if the operation uses a value that it rounded before.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <cstring>
#include <utility>

#include "engine/device/device.h"
#include "engine/io/half.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace device_half_test {

template <class S>
struct HalfTest : public ::testing::Test {
  static constexpr DType kHalf = std::is_same_v<S, Bf16> ? DType::Bf16 : DType::Fp16;
  static constexpr double kUnit = std::is_same_v<S, Bf16> ? 0x1p-8 : 0x1p-11;  // of rounding to nearest
};
using Halves = ::testing::Types<Bf16, Fp16>;
TYPED_TEST_SUITE(HalfTest, Halves);

/// Numbers of the format, and the same as fp32.
template <class S>
struct Both {
  std::vector<S> half;
  std::vector<float> wide;

  Both(int64_t count, uint64_t seed, double scale = 1) {
    for (const float value : normal<float>(count, seed)) {
      half.push_back(S(value * static_cast<float>(scale)));
      wide.push_back(static_cast<float>(half.back()));
    }
  }
};

template <class S>
std::vector<float> to_floats(const std::vector<S>& values) {
  std::vector<float> floats(values.size());
  for (size_t i = 0; i < values.size(); ++i) floats[i] = static_cast<float>(values[i]);
  return floats;
}

TYPED_TEST(HalfTest, ProductsAreSummedInFp32AndRoundedOnce) {
  using S = TypeParam;
  for (const int threads : {1, 3})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const bool bias : {false, true}) {
          const int64_t m = 401, n = 777, k = 390;  // past one tile in every direction
          const Both<S> a(m * k, 1), b(k * n, 2), c(n, 3);
          Gemm gemm;
          gemm.dtype = this->kHalf;
          gemm.transpose_a = ta;
          gemm.transpose_b = tb;
          gemm.m = m;
          gemm.n = n;
          gemm.k = k;
          gemm.lda = ta ? m : k;
          gemm.ldb = tb ? k : n;
          gemm.ldc = n;
          gemm.a = a.half.data();
          gemm.b = b.half.data();
          gemm.bias = bias ? c.half.data() : nullptr;
          std::vector<S> result(static_cast<size_t>(m * n), S(NAN));
          gemm.c = result.data();
          const auto device = make_cpu_device(threads);
          device->gemm(gemm);
          Gemm exact = gemm;
          std::vector<float> expected(result.size());
          exact.dtype = DType::Fp32;
          exact.a = a.wide.data();
          exact.b = b.wide.data();
          exact.bias = bias ? c.wide.data() : nullptr;
          exact.c = expected.data();
          device->gemm(exact);
          for (size_t i = 0; i < result.size(); ++i)
            ASSERT_NEAR(static_cast<float>(result[i]), expected[i],
                        1.01 * this->kUnit * std::abs(static_cast<double>(expected[i])) + 1e-3)
                << ta << tb << bias << i;
        }
}

// The products of one GPT-2 small layer and of one wide enough that a library would break its sums: forward,
// dX and dW, whole on one thread and on three, and a part of C by itself. bf16 may take a library's kernels.
// Sums are looked at as they are, and rounded: rounding would hide most of what differs.
TYPED_TEST(HalfTest, APartHasTheBitsOfTheWholeProduct) {
  using S = TypeParam;
  struct Sizes {
    int64_t m, n, k;
  };
  for (const auto& [m, n, k] : {Sizes{64, 2304, 768}, Sizes{400, 600, 1537}, Sizes{33, 90, 1024},
                                Sizes{160, 416, 1024}, Sizes{224, 320, 1152}, Sizes{48, 3200, 2500}})
    for (const auto& [ta, tb] : {std::pair(false, false), std::pair(false, true), std::pair(true, false)})
      for (const size_t bytes : {sizeof(float), sizeof(S)}) {
        const Both<S> a(m * k, 1), b(k * n, 2);
        const auto product = [&, m = m, n = n, k = k, ta = ta, tb = tb](int threads, Range rows, Range cols) {
          std::vector<std::byte> c(static_cast<size_t>(rows.size() * cols.size()) * bytes);
          make_cpu_device(threads)->gemm({.dtype = this->kHalf,
                                          .transpose_a = ta,
                                          .transpose_b = tb,
                                          .m = rows.size(),
                                          .n = cols.size(),
                                          .k = k,
                                          .a = a.half.data() + (ta ? rows.begin : rows.begin * k),
                                          .lda = ta ? m : k,
                                          .b = b.half.data() + (tb ? cols.begin * k : cols.begin),
                                          .ldb = tb ? k : n,
                                          .c = c.data(),
                                          .ldc = cols.size(),
                                          .wide_result = bytes == sizeof(float)});
          return c;
        };
        const std::vector<std::byte> whole = product(1, {0, m}, {0, n});
        EXPECT_TRUE(same_bits(whole, product(3, {0, m}, {0, n})))
            << m << " " << ta << tb << ", three threads";
        for (const auto& [rows, cols] :
             {std::pair(Range{m / 3, m / 3 + 17}, Range{n / 2, n}),
              std::pair(Range{m / 14, m * 3 / 5}, Range{n * 5 / 6, n * 5 / 6 + 11})}) {
          const std::vector<std::byte> part = product(1, rows, cols);
          const size_t width = static_cast<size_t>(cols.size()) * bytes;
          for (int64_t row = 0; row < rows.size(); ++row) {
            const auto at = static_cast<size_t>((rows.begin + row) * n + cols.begin) * bytes;
            EXPECT_EQ(std::memcmp(part.data() + static_cast<size_t>(row) * width, whole.data() + at, width),
                      0)
                << m << " " << ta << tb << ", row " << row;
          }
        }
      }
}

// A generation has a product of a new size with every prompt. bf16 may take a library's kernels, and keep
// some.
TYPED_TEST(HalfTest, ProductsOfEverNewSizesHoldNoEverMoreMemory) {
  using S = TypeParam;
  constexpr int64_t kSizes = 1500, kRows = 32;  // more sizes than are kept
  constexpr int64_t kLong = 3000;               // sums that are computed in another way than short ones
  const std::vector<S> ones(static_cast<size_t>((kLong + 3 * kSizes) * kRows), S(1.0f));
  std::vector<S> sums(static_cast<size_t>(kRows * kRows));
  const auto device = make_cpu_device(1);
  const auto multiply = [&](int64_t k, int64_t stride) {
    device->gemm({.dtype = this->kHalf,
                  .m = kRows,
                  .n = kRows,
                  .k = k,
                  .a = ones.data(),
                  .lda = k,
                  .b = ones.data(),
                  .ldb = stride,
                  .c = sums.data(),
                  .ldc = kRows});
  };
  const auto held_after = [&](int64_t first) {
    for (int64_t i = first; i < first + kSizes; ++i) multiply(kRows, kRows + i);
    for (int64_t i = first; i < first + kSizes; ++i) multiply(kLong + i, kRows);
    return static_cast<int64_t>(mallinfo2().uordblks);
  };
  const int64_t before = held_after(0),
                after = held_after(kSizes);  // by then the library's own cache is full
  // What is kept is let go all at once, and swings by some MB; all that was ever made would be six times
  // that.
  EXPECT_LT(after - before, kSizes * 4000) << "bytes for " << 2 * kSizes << " sizes";
}

// A small one, one past several tiles, one whose rows begin anywhere and one whose sums are as long as its
// rows; and what lies around them.
TYPED_TEST(HalfTest, AWeightsGradientStaysInFp32AndAddsUp) {
  using S = TypeParam;
  const auto device = make_cpu_device(1);
  struct Sizes {
    int64_t m, n, k;
  };
  for (const auto& [m, n, k] :
       {Sizes{30, 50, 400}, Sizes{400, 800, 100}, Sizes{390, 771, 33}, Sizes{1030, 3100, 2300}})
    for (const bool accumulate : {false, true}) {
      const Both<S> a(k * m, 1), b(k * n, 2);
      const int64_t stride = n + 5;
      std::vector<float> result = normal<float>(m * stride, 4), expected = result;
      Gemm gemm;
      gemm.dtype = this->kHalf;
      gemm.wide_result = gemm.transpose_a = true;
      gemm.accumulate = accumulate;
      gemm.m = m;
      gemm.n = n;
      gemm.k = k;
      gemm.lda = m;
      gemm.ldb = n;
      gemm.ldc = stride;
      gemm.a = a.half.data();
      gemm.b = b.half.data();
      gemm.c = result.data();
      device->gemm(gemm);
      gemm.dtype = DType::Fp32;
      gemm.a = a.wide.data();
      gemm.b = b.wide.data();
      gemm.c = expected.data();
      device->gemm(gemm);
      EXPECT_LT(relative_error(result, expected), 1e-6) << m << " " << accumulate;
      for (int64_t row = 0; row < m; ++row)
        EXPECT_EQ(std::memcmp(result.data() + row * stride + n, expected.data() + row * stride + n,
                              5 * sizeof(float)),
                  0)
            << m << ", right of row " << row;
    }
}

/// Forward and backward pass in the element type S, as floats: C, then dQKV.
template <class S>
std::vector<float> attention(Attention op, const std::vector<S>& qkv, const std::vector<S>& dc) {
  const auto device = make_cpu_device(2);
  const auto tokens = static_cast<size_t>(op.batch * op.seq);
  std::vector<S> saved(tokens * static_cast<size_t>(op.heads * op.seq)), context(dc.size()), dqkv(qkv.size());
  std::vector<float> workspace(
      static_cast<size_t>(attention_workspace_elements(op.dtype, op.seq, op.head_dim)), NAN);
  op.qkv = qkv.data();
  op.saved = saved.data();
  op.context = context.data();
  op.workspace = workspace.data();
  device->attention(op);
  device->attention_grad({.forward = op, .dcontext = dc.data(), .dqkv = dqkv.data()});
  std::vector<float> result = to_floats(context);
  for (const float value : to_floats(dqkv)) result.push_back(value);
  return result;
}

// P, C and dQKV are rounded: a few units together.
TYPED_TEST(HalfTest, AttentionIsRoundedOnlyWhereItIsKept) {
  using S = TypeParam;
  for (const bool recompute : {false, true})
    for (const bool causal : {false, true}) {
      Attention op{this->kHalf, 2, 150, 3, 16, causal, recompute};
      const Both<S> qkv(2 * 150 * 3 * 3 * 16, 5), dc(2 * 150 * 3 * 16, 6);
      const std::vector<float> ours = attention(op, qkv.half, dc.half);
      op.dtype = DType::Fp32;
      EXPECT_LT(relative_error(ours, attention(op, qkv.wide, dc.wide)), 3 * this->kUnit)
          << recompute << causal;
    }
}

TYPED_TEST(HalfTest, RowsAndElementsAreRoundedOnce) {
  using S = TypeParam;
  const auto device = make_cpu_device(1);
  const int64_t rows = 21, cols = 75, count = rows * cols;
  const Both<S> x(count, 1), y(count, 2), gamma(cols, 3), beta(cols, 4);
  const DType half = this->kHalf;
  const auto compare = [&](const char* what, const std::vector<S>& ours, const std::vector<float>& wide) {
    EXPECT_LT(relative_error(to_floats(ours), wide), 1.01 * this->kUnit) << what;
    EXPECT_GT(relative_error(to_floats(ours), wide), 0.1 * this->kUnit) << what << " was not rounded";
  };
  std::vector<S> out(x.half.size());
  std::vector<float> wide(x.wide.size()), stats(2 * rows), wide_stats(2 * rows);
  device->layer_norm({.dtype = half,
                      .rows = rows,
                      .cols = cols,
                      .epsilon = 1e-5,
                      .x = x.half.data(),
                      .gamma = gamma.half.data(),
                      .beta = beta.half.data(),
                      .y = out.data(),
                      .stats = stats.data()});
  device->layer_norm({.dtype = DType::Fp32,
                      .rows = rows,
                      .cols = cols,
                      .epsilon = 1e-5,
                      .x = x.wide.data(),
                      .gamma = gamma.wide.data(),
                      .beta = beta.wide.data(),
                      .y = wide.data(),
                      .stats = wide_stats.data()});
  compare("LayerNorm", out, wide);
  EXPECT_TRUE(same_bits(stats, wide_stats));
  std::vector<float> dgamma(cols), dbeta(cols), wide_dgamma(cols), wide_dbeta(cols);
  device->layer_norm_grad({.dtype = half,
                           .rows = rows,
                           .cols = cols,
                           .x = x.half.data(),
                           .gamma = gamma.half.data(),
                           .stats = stats.data(),
                           .dy = y.half.data(),
                           .dx = out.data(),
                           .dgamma = dgamma.data(),
                           .dbeta = dbeta.data()});
  device->layer_norm_grad({.dtype = DType::Fp32,
                           .rows = rows,
                           .cols = cols,
                           .x = x.wide.data(),
                           .gamma = gamma.wide.data(),
                           .stats = stats.data(),
                           .dy = y.wide.data(),
                           .dx = wide.data(),
                           .dgamma = wide_dgamma.data(),
                           .dbeta = wide_dbeta.data()});
  compare("LayerNorm's gradient", out, wide);
  EXPECT_TRUE(same_bits(dgamma, wide_dgamma));
  EXPECT_TRUE(same_bits(dbeta, wide_dbeta));
  for (const Activation form : {Activation::GeluTanh, Activation::GeluErf}) {
    device->gelu(half, form, count, x.half.data(), out.data());
    device->gelu(DType::Fp32, form, count, x.wide.data(), wide.data());
    compare("GeLU", out, wide);
    device->gelu_grad({.dtype = half,
                       .form = form,
                       .count = count,
                       .x = x.half.data(),
                       .dy = y.half.data(),
                       .dx = out.data()});
    device->gelu_grad({.dtype = DType::Fp32,
                       .form = form,
                       .count = count,
                       .x = x.wide.data(),
                       .dy = y.wide.data(),
                       .dx = wide.data()});
    compare("GeLU's gradient", out, wide);
  }
  device->add(half, count, x.half.data(), y.half.data(), out.data());
  device->add(DType::Fp32, count, x.wide.data(), y.wide.data(), wide.data());
  compare("a sum", out, wide);
  device->bias_add({.dtype = half,
                    .rows = rows,
                    .cols = cols,
                    .x = x.half.data(),
                    .bias = beta.half.data(),
                    .y = out.data()});
  device->bias_add({.dtype = DType::Fp32,
                    .rows = rows,
                    .cols = cols,
                    .x = x.wide.data(),
                    .bias = beta.wide.data(),
                    .y = wide.data()});
  compare("a bias", out, wide);
  device->bias_grad(half, rows, cols, x.half.data(), dbeta.data());
  device->bias_grad(DType::Fp32, rows, cols, x.wide.data(), wide_dbeta.data());
  EXPECT_TRUE(same_bits(dbeta, wide_dbeta));
  device->dropout(half, {0.3, 5, 6}, {7, 1, count, 0}, x.half.data(), out.data());
  device->dropout(DType::Fp32, {0.3, 5, 6}, {7, 1, count, 0}, x.wide.data(), wide.data());
  compare("dropout", out, wide);
}

TYPED_TEST(HalfTest, TheLossIsThatOfFp32AndItsGradientIsRoundedOnce) {
  using S = TypeParam;
  const auto device = make_cpu_device(1);
  const int64_t tokens = 9, columns = 101;
  const Both<S> logits(tokens * columns, 1, 3);
  std::vector<int32_t> labels;
  std::vector<float> weights;
  for (int32_t t = 0; t < tokens; ++t) {
    labels.push_back(t * 11);
    weights.push_back(1.0f / 9);
  }
  VocabShard shard{this->kHalf, tokens, {0, columns}, 97};
  const auto evaluate = [&](const void* data, void* gradient) {
    std::vector<float> max(tokens), target(tokens), sum(tokens), loss(1);
    device->vocab_max(shard, data, max.data());
    device->target_logit(shard, data, labels.data(), target.data());
    device->sum_exp({.shard = shard, .logits = data, .max = max.data(), .sum = sum.data()});
    device->cross_entropy({.dtype = DType::Fp32,
                           .tokens = tokens,
                           .max = max.data(),
                           .target = target.data(),
                           .sum = sum.data(),
                           .weights = weights.data(),
                           .loss = loss.data()});
    device->cross_entropy_grad({.shard = shard,
                                .logits = data,
                                .labels = labels.data(),
                                .max = max.data(),
                                .sum = sum.data(),
                                .weights = weights.data(),
                                .dlogits = gradient});
    return loss[0];
  };
  std::vector<S> gradient = logits.half;  // in place, as the Program may ask for it
  const float ours = evaluate(gradient.data(), gradient.data());
  shard.dtype = DType::Fp32;
  std::vector<float> wide(logits.wide.size());
  EXPECT_EQ(ours, evaluate(logits.wide.data(), wide.data()));
  EXPECT_LT(relative_error(to_floats(gradient), wide), this->kUnit);
}

// The fp32 copy moves as an fp32 parameter does, and the 16-bit one is that copy, rounded: steps too small
// for 16 bits add up.
TYPED_TEST(HalfTest, AdamWMovesTheCopyAndRoundsItIntoTheWeight) {
  using S = TypeParam;
  const auto device = make_cpu_device(1);
  const int64_t count = 100;
  const std::vector<float> start = normal<float>(count, 1), gradient = normal<float>(count, 2);
  std::vector<float> master = start, m(count), v(count), wide = start, wide_m(count), wide_v(count);
  std::vector<S> weight(start.begin(), start.end());
  const double factor = 1;
  AdamWStep step;
  step.count = count;
  step.gradient = gradient.data();
  step.factor = &factor;
  step.learning_rate = 1e-6;
  step.beta1 = 0.9;
  step.beta2 = 0.999;
  step.epsilon = 1e-8;
  for (step.iteration = 1; step.iteration <= 20; ++step.iteration) {
    AdamWStep narrow = step, reference = step;
    narrow.dtype = this->kHalf;
    narrow.parameter = weight.data();
    narrow.master = master.data();
    narrow.first_moment = m.data();
    narrow.second_moment = v.data();
    device->adamw({&narrow, 1});
    reference.parameter = wide.data();
    reference.first_moment = wide_m.data();
    reference.second_moment = wide_v.data();
    device->adamw({&reference, 1});
  }
  EXPECT_TRUE(same_bits(master, wide));
  EXPECT_FALSE(same_bits(master, start));
  for (size_t i = 0; i < weight.size(); ++i) EXPECT_EQ(weight[i].bits, S(master[i]).bits);
}

}  // namespace device_half_test
}  // namespace shardlens
