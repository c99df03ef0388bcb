// The two 16-bit floating-point formats of checkpoints, widened to fp32 exactly.
#pragma once

#include <bit>
#include <cstdint>

namespace shardlens {

/// bf16: the upper half of an fp32.
inline float bfloat_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// IEEE binary16: sign, 5 bits of exponent (bias 15), 10 of fraction.
inline float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1F;
  const uint32_t fraction = bits & 0x3FF;
  if (exponent == 0) {  // zero and subnormal: fraction * 2^-24, exact in fp32
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000 | fraction << 13);  // infinite or NaN
  return std::bit_cast<float>(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

}  // namespace shardlens
