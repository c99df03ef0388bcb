// BLIS computes every tile of C, those at its edges too, by the same microkernel over operands packed with
// zeros, and breaks a sum at multiples of a length that the processor alone decides. That is what makes a
// shard's bits those of the full product's. Its second way for small matrices (without packing) has other
// kernels at the edges and is left out.
#include "engine/device/cpu/blis_gemm.h"

#include <blis.h>
#include <stdlib.h>
#include <unistd.h>

namespace shardlens::cpu {
namespace {

// Told by BLIS_ARCH_TYPE, BLIS takes kernels that this processor may lack, and ends the program where it
// knows none of that name. What it finds by itself is right; unset before main(), while nobody else reads the
// environment.
[[maybe_unused]] const bool kFindsByItself = unsetenv("BLIS_ARCH_TYPE") == 0;

// What BLIS knows of this processor, but for the block of A that it keeps in the second cache and the length
// it breaks sums at: its own, 144 x 256, are for 256 KiB, and most processors of its kernels of 6 x 16 have
// twice that and more (TRIED.md).
cntx_t blocks_for_this_processor() {
  cntx_t context = *bli_gks_query_cntx();
  const auto size = [&](bszid_t which) { return bli_cntx_get_blksz_def_dt(BLIS_FLOAT, which, &context); };
  constexpr long kBytes = 512 << 10;
  if (size(BLIS_MR) != 6 || size(BLIS_NR) != 16 || sysconf(_SC_LEVEL2_CACHE_SIZE) < kBytes) return context;
  const auto set = [&](bszid_t which, dim_t elements) {
    blksz_t* const of_types = bli_cntx_get_blksz(which, &context);
    bli_blksz_set_def(elements, BLIS_FLOAT, of_types);
    bli_blksz_set_max(elements, BLIS_FLOAT, of_types);
  };
  set(BLIS_MC, 258);
  set(BLIS_KC, 384);
  return context;
}

}  // namespace

void blis_multiply(const Product<float>& product) {
  static cntx_t context = blocks_for_this_processor();
  rntm_t how = BLIS_RNTM_INITIALIZER;
  bli_rntm_set_num_threads(1, &how);
  bli_rntm_set_l3_sup(FALSE, &how);
  float one = 1.0f, beta = product.accumulate ? 1.0f : 0.0f;
  const auto given = [](bool transposed) { return transposed ? BLIS_TRANSPOSE : BLIS_NO_TRANSPOSE; };
  const auto& [ta, tb, m, n, k, a, b, c, accumulate] = product;
  // BLIS takes what it only reads as writable.
  bli_sgemm_ex(given(ta), given(tb), m, n, k, &one, const_cast<float*>(a.first), a.stride, 1,
               const_cast<float*>(b.first), b.stride, 1, &beta, c.first, c.stride, 1, &context, &how);
}

}  // namespace shardlens::cpu
