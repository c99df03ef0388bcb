// The GEMM: oneDNN in fp32, Eigen in fp64 (which oneDNN lacks). One product is computed by one thread; a
// device with more threads cuts C into tiles, so that the result does not depend on the number of threads.
#include "engine/device/cpu/gemm.h"

// GCC 12 takes the deliberately undefined operands of its own AVX-512 intrinsics for mistakes of Eigen's.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

#include <dnnl.h>
#include <omp.h>

#include <Eigen/Core>
#include <algorithm>
#include <string>

#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/parallel.h"

namespace shardlens::cpu {

namespace {

constexpr int64_t kTileRows = 256;

template <class T>
bool is_empty(const Product<T>& product) {
  if (product.m == 0 || product.n == 0) return true;
  if (product.k > 0) return false;
  for (int64_t row = 0; row < product.m; ++row) std::fill_n(product.c + row * product.ldc, product.n, T(0));
  return true;
}

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstView = Eigen::Map<const Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;
using View = Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;

}  // namespace

void multiply(const Product<float>& product) {
  if (is_empty(product)) return;
  omp_set_num_threads(1);  // of this thread only: oneDNN would otherwise start a team in every rank
  const dnnl_status_t status = dnnl_sgemm(product.transpose_a ? 'T' : 'N', product.transpose_b ? 'T' : 'N',
                                          product.m, product.n, product.k, 1.0f, product.a, product.lda,
                                          product.b, product.ldb, 0.0f, product.c, product.ldc);
  if (status != dnnl_success)
    throw run_error("oneDNN refused the GEMM m " + std::to_string(product.m) + ", n " +
                    std::to_string(product.n) + ", k " + std::to_string(product.k) + " with status " +
                    std::to_string(status));
}

void multiply(const Product<double>& product) {
  if (is_empty(product)) return;
  const auto [ta, tb, m, n, k, a, lda, b, ldb, c, ldc] = product;
  View result(c, m, n, Eigen::OuterStride<>(ldc));
  const ConstView left(a, ta ? k : m, ta ? m : k, Eigen::OuterStride<>(lda));
  const ConstView right(b, tb ? n : k, tb ? k : n, Eigen::OuterStride<>(ldb));
  if (ta && tb) result.noalias() = left.transpose() * right.transpose();
  if (ta && !tb) result.noalias() = left.transpose() * right;
  if (!ta && tb) result.noalias() = left * right.transpose();
  if (!ta && !tb) result.noalias() = left * right;
}

void CpuDevice::gemm(const Gemm& gemm) {
  with_element_type(gemm.dtype, "a GEMM", [&](auto zero) {
    using T = decltype(zero);
    const int64_t tile_rows = threads_ == 1 ? gemm.m : kTileRows;
    const int64_t tiles = tile_rows == 0 ? 0 : (gemm.m + tile_rows - 1) / tile_rows;
    parallel_for(threads_, tiles, [&](int64_t tile) {
      const int64_t row = tile * tile_rows;
      const T* a = static_cast<const T*>(gemm.a);
      multiply(Product<T>{.transpose_a = gemm.transpose_a,
                          .transpose_b = gemm.transpose_b,
                          .m = std::min(tile_rows, gemm.m - row),
                          .n = gemm.n,
                          .k = gemm.k,
                          .a = a + (gemm.transpose_a ? row : row * gemm.lda),
                          .lda = gemm.lda,
                          .b = static_cast<const T*>(gemm.b),
                          .ldb = gemm.ldb,
                          .c = static_cast<T*>(gemm.c) + row * gemm.ldc,
                          .ldc = gemm.ldc});
    });
    if (gemm.bias != nullptr && gemm.ldc == gemm.n)
      bias_add(gemm.dtype, gemm.m, gemm.n, gemm.c, gemm.bias, gemm.c);
    if (gemm.bias != nullptr && gemm.ldc != gemm.n)
      for (int64_t row = 0; row < gemm.m; ++row) {
        T* c = static_cast<T*>(gemm.c) + row * gemm.ldc;
        bias_add(gemm.dtype, 1, gemm.n, c, gemm.bias, c);
      }
  });
}

}  // namespace shardlens::cpu
