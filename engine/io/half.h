// The two 16-bit floating-point formats: widening to fp32 is exact; rounding from fp32 is to nearest, ties to
// even. The code has no branches, so that the same lines work for one number and for a vector: Word is
// uint32_t and Float is float, or both are vectors of the same length.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "engine/config/dtype.h"

namespace shardlens {

namespace half {

/// bf16 is the upper half of an fp32.
template <class Float, class Word>
[[gnu::always_inline]] inline Float widen_bfloat(Word bits) {
  return std::bit_cast<Float>(bits << 16);
}

template <class Word, class Float>
[[gnu::always_inline]] inline Word round_bfloat(Float value) {
  const Word bits = std::bit_cast<Word>(value);
  const Word rounded = bits + (Word{} + 0x7FFFu) + ((bits >> 16) & 1u);
  const Word quiet = bits | (Word{} + 0x400000u);  // a NaN must not be rounded to infinity
  return (value == value ? rounded : quiet) >> 16;
}

/// IEEE binary16: sign, 5 bits of exponent (bias 15), 10 of fraction.
template <class Float, class Word>
[[gnu::always_inline]] inline Float widen_half(Word bits) {
  const Word magnitude = (bits & 0x7FFFu) << 13;
  const Word sign = (bits & 0x8000u) << 16;
  // If these bits are read as fp32, the exponent is too small by 112; subnormals are fractions of 2^-24.
  const Word normal = magnitude + (Word{} + (112u << 23));
  const Word special = magnitude | (Word{} + (255u << 23));
  const Float tiny = std::bit_cast<Float>(magnitude + (Word{} + (113u << 23))) - 0x1p-14f;
  const Word low = std::bit_cast<Word>(tiny);
  const Word finite = magnitude < (Word{} + (1u << 23)) ? low : normal;
  return std::bit_cast<Float>((magnitude < (Word{} + (31u << 23)) ? finite : special) | sign);
}

/// A value of 65520 or more becomes infinity: it is halfway from the largest finite number to the next.
template <class Word, class Float>
[[gnu::always_inline]] inline Word round_half(Float value) {
  const Word bits = std::bit_cast<Word>(value);
  const Word magnitude = bits & 0x7FFFFFFFu;
  const Word sign = (bits >> 16) & 0x8000u;
  const Word normal =
      (magnitude - (Word{} + (112u << 23)) + (Word{} + 0xFFFu) + ((magnitude >> 13) & 1u)) >> 13;
  // Below 2^-14 the result counts in units of 2^-24, which is the unit of fp32 at 0.5. So an addition of 0.5
  // rounds.
  const Float shifted = std::bit_cast<Float>(magnitude) + 0.5f;
  const Word subnormal = std::bit_cast<Word>(shifted) - (Word{} + 0x3F000000u);
  const Word finite = magnitude < (Word{} + 0x38800000u) ? subnormal : normal;
  const Word large = magnitude > (Word{} + 0x7F800000u) ? Word{} + 0x7E00u : Word{} + 0x7C00u;
  return (magnitude < (Word{} + 0x47800000u) ? finite : large) | sign;
}

}  // namespace half

inline float bfloat_to_float(uint16_t bits) {
  return half::widen_bfloat<float>(uint32_t{bits});
}
inline float half_to_float(uint16_t bits) {
  return half::widen_half<float>(uint32_t{bits});
}
inline uint16_t float_to_bfloat(float value) {
  return static_cast<uint16_t>(half::round_bfloat<uint32_t>(value));
}
inline uint16_t float_to_half(float value) {
  return static_cast<uint16_t>(half::round_half<uint32_t>(value));
}

/// One bf16 number. It converts to and from float implicitly, like float to and from double.
struct Bf16 {
  uint16_t bits;
  Bf16() = default;
  Bf16(float value) : bits(float_to_bfloat(value)) {}
  operator float() const { return bfloat_to_float(bits); }
};

/// One fp16 number.
struct Fp16 {
  uint16_t bits;
  Fp16() = default;
  Fp16(float value) : bits(float_to_half(value)) {}
  operator float() const { return half_to_float(bits); }
};

inline bool is_half(DType dtype) {
  return dtype == DType::Bf16 || dtype == DType::Fp16;
}

/// Returns `count` numbers of a 16-bit format as fp32.
inline std::vector<float> widened(DType dtype, const void* data, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  const auto* bits = static_cast<const uint16_t*>(data);
  for (int64_t i = 0; i < count; ++i)
    values[static_cast<size_t>(i)] = dtype == DType::Bf16 ? bfloat_to_float(bits[i]) : half_to_float(bits[i]);
  return values;
}

/// Converts back, and rounds each number to nearest.
inline void narrow(DType dtype, const float* values, int64_t count, void* data) {
  auto* bits = static_cast<uint16_t*>(data);
  for (int64_t i = 0; i < count; ++i)
    bits[i] = dtype == DType::Bf16 ? float_to_bfloat(values[i]) : float_to_half(values[i]);
}

}  // namespace shardlens
