// fp16 under CUDA's names.
#pragma once

#include "engine/io/half.h"

struct __half {
  uint16_t bits;
  explicit operator float() const { return shardlens::half_to_float(bits); }
};
struct __half2 {
  __half x, y;
};

inline float __half2float(__half value) {
  return static_cast<float>(value);
}
inline __half __float2half_rn(float value) {
  return {shardlens::float_to_half(value)};
}
inline __half2 __floats2half2_rn(float first, float second) {
  return {__float2half_rn(first), __float2half_rn(second)};
}
