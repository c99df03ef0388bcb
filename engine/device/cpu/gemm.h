// The matrix product every operation of the CPU device stands on, on one thread.
#pragma once

#include <cstdint>

namespace shardlens::cpu {

/// C[m, n] = op(A)·op(B), row-major; op(A) is [m, k], op(B) is [k, n]; strides of the matrices as stored, in
/// elements.
template <class T>
struct Product {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t lda = 0;
  const T* b = nullptr;
  int64_t ldb = 0;
  T* c = nullptr;
  int64_t ldc = 0;
};

/// Computes it on the calling thread, with oneDNN in fp32 and Eigen in fp64. With k = 0, C is 0.
void multiply(const Product<float>& product);
void multiply(const Product<double>& product);

}  // namespace shardlens::cpu
