// BLIS computes every tile of C with the same microkernel over operands that are packed with zeros, also at
// the edges. It breaks a sum at multiples of a length that depends only on the processor. So a shard has the
// bits of the full product. Its second method, for small matrices without packing, has other kernels at the
// edges and is not used.
#include "engine/device/cpu/x86/blis_gemm.h"

#include <blis.h>
#include <stdlib.h>
#include <unistd.h>

namespace shardlens::cpu {
namespace {

// With BLIS_ARCH_TYPE set, BLIS may use kernels that this processor lacks, and ends the program if the name
// is unknown. Without it BLIS finds the right kernels. It is unset before main(), while no other code reads
// the environment.
[[maybe_unused]] const bool kFindsByItself = unsetenv("BLIS_ARCH_TYPE") == 0;

// BLIS's own values for this processor, with a larger block of A for the second cache and a larger length at
// which sums are broken. Its own, 144 x 256, are for a cache of 256 KiB. Most processors that use its 6 x 16
// kernels have at least twice as much (TRIED.md).
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
  // BLIS's interface has no const.
  bli_sgemm_ex(given(ta), given(tb), m, n, k, &one, const_cast<float*>(a.first), a.stride, 1,
               const_cast<float*>(b.first), b.stride, 1, &beta, c.first, c.stride, 1, &context, &how);
}

}  // namespace shardlens::cpu
