// Whole products on x86: oneDNN in fp32, Eigen in fp64 (which oneDNN lacks). The order of a sum does not
// depend on m, n or the threads, so a column shard has the bits of the full product's columns. On processors
// before AVX-512 oneDNN's kernels would break this rule, and BLIS is used instead.
//
// dnnl_sgemm and oneDNN's matmul primitive were both measured on GPT-2's shapes: equally fast within noise on
// narrow shards, sgemm faster by up to a tenth on wide ones. sgemm is used, because it needs no primitive for
// each shape.
#include "engine/device/cpu/whole_product.h"

// GCC 12 warns in Eigen about the deliberately undefined operands of its own AVX-512 intrinsics.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

// Eigen would otherwise start a team of threads in every rank.
#define EIGEN_DONT_PARALLELIZE

#include <dnnl.h>
#include <omp.h>

#include <Eigen/Core>
#include <algorithm>
#include <string>

#include "engine/base/error.h"
#include "engine/device/cpu/aligned.h"
#include "engine/device/cpu/allocation.h"
#include "engine/device/cpu/transposed.h"
#include "engine/device/cpu/x86/blis_gemm.h"

namespace shardlens::cpu {

namespace {

// oneDNN breaks a long sum depending on the whole shape, so a shard and the full product would round
// differently. It never breaks a sum of this length. Longer sums are broken here, at multiples of it.
constexpr int64_t kSumLength = 384;

// oneDNN reads a transposed B unpacked, unless there are few rows or the strides are multiples of 256.
// Packing is 4 to 9 % faster on these shapes (GPT-2's dX of QKV at T = 2, 4, 6, 12), so oneDNN gets few rows
// at a time.
constexpr int64_t kPackedRows = 192;
constexpr int64_t kUnpackedStrideStep = 256;

// On an AMD core, for more rows than that, it is even faster to copy B into strips of columns and kSumLength
// terms, which stay in the second cache. The sums are the same, in the same order.
constexpr int64_t kTransposedCols = 384;

// If neither operand is transposed, B's rows are a multiple of 4 KiB apart and A has fewer than 768 rows,
// oneDNN takes up to twice as long as for other shapes (m 256, n 4096, k 2048: 49 % of its best shape's
// speed; from 768 rows on 96 %). With B copied into strips of another stride it reaches 74 to 90 %.
constexpr int64_t kAliasedStrideStep = 1024;
constexpr int64_t kAliasedCols = 512;
constexpr int64_t kLeastCopiedRows = 32, kMostCopiedRows = 767;

// oneDNN packs a panel of up to 9,984 columns by kSumLength rows of B: 15 MB for each rank, which no plan
// counts. It gets a vocabulary's columns in smaller parts, which is equally fast.
constexpr int64_t kMostCols = 4992;
constexpr int64_t kVocabularyCols = 1536;

// Fewer columns take another kernel.
constexpr int64_t kLeastCols = 96;

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstView = Eigen::Map<const Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;
using View = Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;

/// True if the processor has AVX-512 and oneDNN may use it.
bool has_avx512() {
  static const bool has =
      (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
  return has;
}

/// The number of pieces of rows for oneDNN, one after the other.
int row_pieces(const Product<float>& product) {
  const bool packed =
      product.a.stride % kUnpackedStrideStep == 0 && product.b.stride % kUnpackedStrideStep == 0;
  if (product.transpose_a || !product.transpose_b || packed) return 1;
  return static_cast<int>((product.m + kPackedRows - 1) / kPackedRows);
}

/// True if B is copied for oneDNN because of the stride of its rows.
bool is_aliased(const Product<float>& product) {
  return !product.transpose_a && !product.transpose_b && product.m >= kLeastCopiedRows &&
         product.m <= kMostCopiedRows && product.n >= kAliasedCols &&
         product.a.stride % kUnpackedStrideStep == 0 && product.b.stride % kAliasedStrideStep == 0;
}

/// Multiplies few enough columns for one call of oneDNN.
void multiply_cols(const Product<float>& product) {
  const int pieces = row_pieces(product);
  for (int64_t begin = 0; begin < product.k; begin += kSumLength)
    for (int piece = 0; piece < pieces; ++piece) {
      const Range rows = shard_range(product.m, pieces, piece);
      const auto a =
          product.transpose_a ? product.a.from(begin, rows.begin) : product.a.from(rows.begin, begin);
      const auto b = product.transpose_b ? product.b.from(0, begin) : product.b.from(begin);
      const auto c = product.c.from(rows.begin);
      const float beta = begin > 0 || product.accumulate ? 1.0f : 0.0f;
      const dnnl_status_t status =
          dnnl_sgemm(product.transpose_a ? 'T' : 'N', product.transpose_b ? 'T' : 'N', rows.size(), product.n,
                     std::min(kSumLength, product.k - begin), 1.0f, a.first, a.stride, b.first, b.stride,
                     beta, c.first, c.stride);
      if (status != dnnl_success)
        throw run_error("oneDNN refused the GEMM m " + std::to_string(product.m) + ", n " +
                        std::to_string(product.n) + ", k " + std::to_string(product.k) + " with status " +
                        std::to_string(status));
    }
}

/// Calls body(columns) for all columns of C, `step` at a time. The last call may have more, because a few
/// columns alone would take another kernel.
template <class Body>
void for_columns(int64_t n, int64_t step, const Body& body) {
  for (int64_t begin = 0, end = 0; begin < n; begin = end) {
    end = n - begin < step + kLeastCols ? n : begin + step;
    body(Range{begin, end});
  }
}

void multiply_as_it_is(const Product<float>& product) {
  omp_set_num_threads(1);  // only for this thread: oneDNN would otherwise start a team in every rank
  join_freed_memory();
  for_columns(product.n, product.n > kMostCols ? kVocabularyCols : product.n, [&](Range cols) {
    Product<float> piece = product;
    piece.n = cols.size();
    piece.b = product.transpose_b ? product.b.from(cols.begin) : product.b.from(0, cols.begin);
    piece.c = product.c.from(0, cols.begin);
    multiply_cols(piece);
  });
}

/// Copies some columns and terms of op(B) into the rows of a strip.
using CopyStrip = void (*)(Rows<const float> b, Range cols, Range terms, Rows<float> strip);

void copy_as_it_is(Rows<const float> b, Range cols, Range terms, Rows<float> strip) {
  for (int64_t term = terms.begin; term < terms.end; ++term)
    std::copy_n(b.at(term) + cols.begin, cols.size(), strip.at(term - terms.begin));
}

void copy_turned(Rows<const float> b, Range cols, Range terms, Rows<float> strip) {
  copy_transposed(b.from(cols.begin, terms.begin), cols.size(), terms.size(), strip);
}

/// Multiplies with copies of op(B), `step` columns by kSumLength terms at a time. A column's sum has the same
/// order as in the whole product.
void multiply_in_strips(const Product<float>& product, int64_t step, CopyStrip copy) {
  static thread_local Aligned<float> kept;
  for_columns(product.n, step, [&](Range cols) {
    const Rows<float> strip = room_for_copy(kSumLength, cols.size(), kept);
    for (int64_t begin = 0; begin < product.k; begin += kSumLength) {
      const Range terms{begin, std::min(product.k, begin + kSumLength)};
      copy(product.b, cols, terms, strip);
      Product<float> piece = product;
      piece.transpose_b = false;
      piece.n = cols.size();
      piece.k = terms.size();
      piece.accumulate = product.accumulate || begin > 0;
      piece.a = product.a.from(0, begin);
      piece.b = {strip.first, strip.stride};
      piece.c = product.c.from(0, cols.begin);
      multiply_as_it_is(piece);
    }
  });
}

/// True if a transposed B is copied for oneDNN. Called only with AVX-512.
bool is_copied_transposed(const Product<float>& product) {
  static const bool pays = __builtin_cpu_is("amd");
  return pays && row_pieces(product) > 1;
}

}  // namespace

std::string product_kernels() {
  const auto has = [](dnnl_cpu_isa_t isa) { return (dnnl_get_effective_cpu_isa() & isa) == isa; };
  if (has(dnnl_cpu_isa_avx512_core_amx)) return "AVX-512 with AMX";
  if (has(dnnl_cpu_isa_avx512_core_bf16)) return "AVX-512 with bf16";
  return has_avx512() ? "AVX-512" : "AVX2";
}

void multiply_whole(const Product<float>& product) {
  // Before AVX-512 oneDNN has other kernels for a product's edges, and large products have edges inside.
  if (!has_avx512()) return blis_multiply(product);
  if (is_aliased(product)) return multiply_in_strips(product, kAliasedCols, copy_as_it_is);
  if (is_copied_transposed(product)) return multiply_in_strips(product, kTransposedCols, copy_turned);
  multiply_as_it_is(product);
}

void multiply_whole(const Product<double>& product) {
  const bool ta = product.transpose_a, tb = product.transpose_b;
  const int64_t m = product.m, n = product.n, k = product.k;
  View c(product.c.first, m, n, Eigen::OuterStride<>(product.c.stride));
  const ConstView a(product.a.first, ta ? k : m, ta ? m : k, Eigen::OuterStride<>(product.a.stride));
  const ConstView b(product.b.first, tb ? n : k, tb ? k : n, Eigen::OuterStride<>(product.b.stride));
  if (!product.accumulate) c.setZero();
  if (ta && tb) c.noalias() += a.transpose() * b.transpose();
  if (ta && !tb) c.noalias() += a.transpose() * b;
  if (!ta && tb) c.noalias() += a * b.transpose();
  if (!ta && !tb) c.noalias() += a * b;
}

}  // namespace shardlens::cpu
