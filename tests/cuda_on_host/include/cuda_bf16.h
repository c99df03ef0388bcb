// bf16 under CUDA's names.
#pragma once

#include "engine/io/half.h"

struct __nv_bfloat16 {
  uint16_t bits;
  explicit operator float() const { return shardlens::bfloat_to_float(bits); }
};
struct __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline float __bfloat162float(__nv_bfloat16 value) {
  return static_cast<float>(value);
}
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  return {shardlens::float_to_bfloat(value)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float first, float second) {
  return {__float2bfloat16_rn(first), __float2bfloat16_rn(second)};
}
