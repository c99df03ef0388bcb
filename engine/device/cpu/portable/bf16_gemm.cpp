// No bf16 instructions: half_gemm.cpp widens the operands and multiplies in fp32.
#include "engine/device/cpu/bf16_gemm.h"

#include "engine/base/error.h"

namespace shardlens::cpu {

bool has_bf16_instructions() {
  return false;
}

void bf16_gemm(const Gemm&, int) {
  throw run_error(
      "the portable CPU kernels have no product by bf16 instructions: has_bf16_instructions() says so, and "
      "half_gemm() computes the product without them");
}

}  // namespace shardlens::cpu
