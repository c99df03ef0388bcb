// Operations that the compiler's vector extensions lack, in plain C++ with registers of 16 bytes, which ARM,
// WebAssembly and every x86-64 have. x86/registers_512.h has the comments.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shardlens::cpu {

inline constexpr int kVectorBytes = 16;

typedef float FloatVector __attribute__((vector_size(kVectorBytes)));
typedef double DoubleVector __attribute__((vector_size(kVectorBytes)));
typedef uint32_t WordVector __attribute__((vector_size(kVectorBytes)));
typedef uint16_t ShortVector __attribute__((vector_size(kVectorBytes / 2)));

namespace registers {

// Where the processor has a fused multiply-add, the compiler makes one instruction of std::fma in all lanes.
// Elsewhere std::fma is a slow function, and product and sum are rounded each: by every path that an element
// can take, since there is no other multiply_add().
#if defined(__FP_FAST_FMAF) && defined(__FP_FAST_FMA)
inline constexpr bool kFuses = true;
template <class Vector>
[[gnu::always_inline]] inline Vector multiply_add(Vector a, Vector b, Vector c) {
  Vector result;
  for (size_t lane = 0; lane < sizeof(Vector) / sizeof a[0]; ++lane)
    result[lane] = std::fma(a[lane], b[lane], c[lane]);
  return result;
}
#else
inline constexpr bool kFuses = false;
template <class Vector>
[[gnu::always_inline]] inline Vector multiply_add(Vector a, Vector b, Vector c) {
  return a * b + c;
}
#endif

[[gnu::always_inline]] inline FloatVector load_first(const float* from, int64_t count, FloatVector fill) {
  for (int64_t lane = 0; lane < count; ++lane) fill[lane] = from[lane];
  return fill;
}
[[gnu::always_inline]] inline DoubleVector load_first(const double* from, int64_t count, DoubleVector fill) {
  for (int64_t lane = 0; lane < count; ++lane) fill[lane] = from[lane];
  return fill;
}
template <class Half>
[[gnu::always_inline]] inline ShortVector load_first(const Half* from, int64_t count) {
  static_assert(sizeof(Half) == 2);
  ShortVector shorts{};
  std::memcpy(&shorts, from, static_cast<size_t>(count) * sizeof(Half));
  return shorts;
}

[[gnu::always_inline]] inline void store_first(float* to, FloatVector vector, int64_t count) {
  std::memcpy(to, &vector, static_cast<size_t>(count) * sizeof(float));
}
[[gnu::always_inline]] inline void store_first(double* to, DoubleVector vector, int64_t count) {
  std::memcpy(to, &vector, static_cast<size_t>(count) * sizeof(double));
}
template <class Half>
[[gnu::always_inline]] inline void store_first(Half* to, ShortVector vector, int64_t count) {
  static_assert(sizeof(Half) == 2);
  std::memcpy(to, &vector, static_cast<size_t>(count) * sizeof(Half));
}

/// Writes through the caches: no plain C++ writes past them.
[[gnu::always_inline]] inline void stream(float* to, FloatVector vector) {
  std::memcpy(to, &vector, sizeof vector);
}
/// Nothing to order: a store through the caches is ordered by what hands its data to another thread.
[[gnu::always_inline]] inline void settle_past_caches() {}

/// Nothing: whether a value stays in a register is left to the compiler.
template <class Vector>
[[gnu::always_inline]] inline void keep(Vector&) {}

[[gnu::always_inline]] inline WordVector words_of(ShortVector shorts) {
  return __builtin_convertvector(shorts, WordVector);
}
[[gnu::always_inline]] inline ShortVector shorts_of(WordVector words) {
  return __builtin_convertvector(words, ShortVector);
}

}  // namespace registers

}  // namespace shardlens::cpu
