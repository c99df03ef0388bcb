// Products of few rows: their bits do not depend on the columns and rows beside them, on the order in which
// blocks run, or on whether the steps around the product are part of it. The values are tested with those of
// all products, by tests/engine/device/every_device_test.cpp.
#include <gtest/gtest.h>

#include <array>

#include "engine/device/cuda/cuda_device.h"
#include "tests/cuda_on_host/block.h"
#include "tests/cuda_on_host/streams.h"
#include "tests/engine/device/token_steps.h"

namespace shardlens {
namespace {

constexpr DType kDTypes[] = {DType::Bf16, DType::Fp16, DType::Fp32};

/// Columns [begin, end) of a matrix of `cols` columns, as a matrix of its own.
Numbers columns(const Numbers& all, int64_t cols, int64_t begin, int64_t end) {
  Numbers part;
  for (size_t row = 0; row < all.size(); row += static_cast<size_t>(cols))
    part.insert(part.end(), all.begin() + static_cast<std::ptrdiff_t>(row) + begin,
                all.begin() + static_cast<std::ptrdiff_t>(row) + end);
  return part;
}

Numbers turned(const Numbers& all, int64_t cols) {
  const auto rows = static_cast<int64_t>(all.size()) / cols;
  Numbers result;
  for (int64_t col = 0; col < cols; ++col)
    for (int64_t row = 0; row < rows; ++row) result.push_back(all[static_cast<size_t>(row * cols + col)]);
  return result;
}

/// X·W with these operands, which have as many columns as they have.
Numbers multiplied(Device& device, DType dtype, const Numbers& x, const Numbers& w, bool is_turned) {
  const auto m = static_cast<int64_t>(x.size()) / kTokenDepth,
             n = static_cast<int64_t>(w.size()) / kTokenDepth;
  return operate(device, dtype, 0,
                 [&](OnDevice& on) {
                   Gemm gemm = token_product_of(on, m, n, is_turned);
                   gemm.a = on.in(x);
                   gemm.b = on.in(is_turned ? turned(w, n) : w);
                   gemm.c = on.out("C", m * n);
                   on.device.gemm(gemm);
                 })
      .front()
      .numbers();
}

TEST(TokenProduct, AColumnHasTheSameBitsInAMatrixOfFewerColumns) {
  constexpr int64_t kRows = 3, kCols = 208;
  const auto device = make_cuda_device(0);
  for (const DType dtype : kDTypes) {
    const Numbers x = normal_in(dtype, kRows * kTokenDepth, 1), w = normal_in(dtype, kTokenDepth * kCols, 2);
    for (const bool is_turned : {false, true}) {
      const Numbers whole = multiplied(*device, dtype, x, w, is_turned);
      for (const auto& cuts :
           {std::vector<int64_t>{0, 104, 208}, {0, 52, 104, 156, 208}, {0, 1, 7, 100, 208}})
        for (size_t part = 0; part + 1 < cuts.size(); ++part)
          EXPECT_EQ(multiplied(*device, dtype, x, columns(w, kCols, cuts[part], cuts[part + 1]), is_turned),
                    columns(whole, kCols, cuts[part], cuts[part + 1]))
              << to_string(dtype) << is_turned << ", from column " << cuts[part] << " to " << cuts[part + 1];
    }
  }
}

TEST(TokenProduct, ARowHasTheSameBitsBesideOtherRows) {
  constexpr int64_t kCols = 24;
  const auto device = make_cuda_device(0);
  for (const DType dtype : kDTypes) {
    const Numbers x = normal_in(dtype, 8 * kTokenDepth, 1), w = normal_in(dtype, kTokenDepth * kCols, 2);
    for (const bool is_turned : {false, true}) {
      const Numbers all = multiplied(*device, dtype, x, w, is_turned);
      for (const int64_t rows : {1, 2, 3, 5}) {
        const Numbers few(x.begin(), x.begin() + rows * kTokenDepth);
        EXPECT_EQ(multiplied(*device, dtype, few, w, is_turned),
                  Numbers(all.begin(), all.begin() + rows * kCols))
            << to_string(dtype) << is_turned << ", " << rows << " rows";
      }
    }
  }
}

TEST(TokenProduct, HasTheBitsOfItsPartsInOneLaunch) {
  const auto device = make_cuda_device(0);
  for (const DType dtype : kDTypes)
    for (const TokenSteps& steps : kTokenSteps)
      for (const auto& [rows, cols, shift] : {std::array<int64_t, 3>{1, 72, 0}, {3, 24, 0}, {8, 9, 1}}) {
        const Outputs parts = multiply_tokens(*device, dtype, shift, rows, cols, steps, false);
        const int before = on_host::launches;
        EXPECT_TRUE(same(multiply_tokens(*device, dtype, shift, rows, cols, steps, true), parts))
            << to_string(dtype) << " " << ::testing::PrintToString(steps) << ", " << rows << " rows";
        EXPECT_EQ(on_host::launches - before, 1);
      }
}

TEST(TokenProduct, HasTheSameBitsInWhateverOrderBlocksRun) {
  const auto device = make_cuda_device(0);
  for (const DType dtype : kDTypes)
    for (const TokenSteps& steps : {kTokenSteps[1], kTokenSteps[4]}) {
      const Outputs forwards = multiply_tokens(*device, dtype, 0, 2, 72, steps, true);
      on_host::runs_backwards = true;
      EXPECT_TRUE(same(multiply_tokens(*device, dtype, 0, 2, 72, steps, true), forwards)) << to_string(dtype);
      on_host::runs_backwards = false;
    }
}

/// LayerNorm of `x` and the product of its result, whose C may lie where x was.
Outputs over_x(Device& device, bool overlaps, bool at_once) {
  constexpr int64_t kRows = 2;
  return operate(device, DType::Bf16, 0, [&](OnDevice& on) {
    TokenProduct op{.product = token_product_of(on, kRows, kTokenDepth, false)};
    void* const x = on.in_out(on.dtype, "x", normal_in(on.dtype, kRows * kTokenDepth, 1));
    void* const c = on.out("C", kRows * kTokenDepth);
    op.product.a = on.out("y", kRows * kTokenDepth);
    op.product.b = on.in(normal_in(on.dtype, kTokenDepth * kTokenDepth, 2));
    op.product.c = overlaps ? x : c;
    op.norm = LayerNorm{.dtype = on.dtype,
                        .rows = kRows,
                        .cols = kTokenDepth,
                        .epsilon = 1e-5,
                        .x = x,
                        .gamma = on.in(normal_in(on.dtype, kTokenDepth, 3)),
                        .beta = on.in(normal_in(on.dtype, kTokenDepth, 4)),
                        .y = const_cast<void*>(op.product.a),
                        .stats = on.out_wide("stats", 2 * kRows)};
    if (at_once) return on.device.token_product(op);
    on.device.layer_norm(*op.norm);
    on.device.gemm(op.product);
  });
}

// Where memory is used again, a block could write what another one has yet to read.
TEST(TokenProduct, IsDoneInPartsWhereAResultLiesOverAnOperandOfAnEarlierStep) {
  const auto device = make_cuda_device(0);
  for (const bool overlaps : {false, true}) {
    const Outputs parts = over_x(*device, overlaps, false);
    const int before = on_host::launches;
    EXPECT_TRUE(same(over_x(*device, overlaps, true), parts)) << overlaps;
    EXPECT_EQ(on_host::launches - before, overlaps ? 2 : 1);
  }
}

/// LayerNorm of a sum, the product of its result, and a sum with what the first sum is, in what order the
/// blocks run.
Outputs added_to_its_norms_sum(Device& device, bool backwards, bool at_once) {
  constexpr int64_t kRows = 2;
  on_host::runs_backwards = backwards;
  Outputs left = operate(device, DType::Bf16, 0, [&](OnDevice& on) {
    unsigned seed = 0;
    const auto in = [&](int64_t count) { return on.in(normal_in(on.dtype, count, ++seed)); };
    constexpr int64_t kCount = kRows * kTokenDepth;
    TokenProduct op{.product = token_product_of(on, kRows, kTokenDepth, false)};
    op.product.a = on.out("y", kCount);
    op.product.b = in(kTokenDepth * kTokenDepth);
    op.product.c = on.out("C", kCount);
    op.norm = LayerNorm{.dtype = on.dtype,
                        .rows = kRows,
                        .cols = kTokenDepth,
                        .epsilon = 1e-5,
                        .x = in(kCount),
                        .gamma = in(kTokenDepth),
                        .beta = in(kTokenDepth),
                        .y = const_cast<void*>(op.product.a),
                        .stats = on.out_wide("stats", 2 * kRows),
                        .a = in(kCount),
                        .sum = on.out("x + a", kCount)};
    op.sum = BiasAdd{.dtype = on.dtype,
                     .rows = kRows,
                     .cols = kTokenDepth,
                     .x = op.product.c,
                     .bias = in(kTokenDepth),
                     .y = on.out("Y", kCount),
                     .addend = op.norm->sum};
    if (at_once) return on.device.token_product(op);
    on.device.layer_norm(*op.norm);
    on.device.gemm(op.product);
    on.device.bias_add(*op.sum);
  });
  on_host::runs_backwards = false;
  return left;
}

// Its norm's blocks and those that add would not wait for each other.
TEST(TokenProduct, HasTheBitsOfItsPartsWhereItIsAddedToWhatItsNormStores) {
  const auto device = make_cuda_device(0);
  const Outputs parts = added_to_its_norms_sum(*device, false, false);
  for (const bool backwards : {false, true})
    EXPECT_TRUE(same(added_to_its_norms_sum(*device, backwards, true), parts)) << backwards;
}

}  // namespace
}  // namespace shardlens
