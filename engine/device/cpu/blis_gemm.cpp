// BLIS computes every tile of C, those at its edges too, by the same microkernel over operands packed with
// zeros, and breaks a sum at multiples of a length that the processor alone decides. That is what makes a
// shard's bits those of the full product's. Its second way for small matrices (without packing) has other
// kernels at the edges and is left out.
#include "engine/device/cpu/blis_gemm.h"

#include <blis.h>

namespace shardlens::cpu {

void blis_multiply(const Product<float>& product) {
  rntm_t how = BLIS_RNTM_INITIALIZER;
  bli_rntm_set_num_threads(1, &how);
  bli_rntm_set_l3_sup(FALSE, &how);
  float one = 1.0f, beta = product.accumulate ? 1.0f : 0.0f;
  // A transposed matrix is one whose rows are an element apart. BLIS takes what it only reads as its own.
  const auto row_stride = [](bool transposed, int64_t stride) { return transposed ? 1 : stride; };
  const auto col_stride = [](bool transposed, int64_t stride) { return transposed ? stride : 1; };
  const auto& [ta, tb, m, n, k, a, b, c, accumulate] = product;
  bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, const_cast<float*>(a.first),
               row_stride(ta, a.stride), col_stride(ta, a.stride), const_cast<float*>(b.first),
               row_stride(tb, b.stride), col_stride(tb, b.stride), &beta, c.first, c.stride, 1, nullptr,
               &how);
}

}  // namespace shardlens::cpu
