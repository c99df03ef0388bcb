// Operations that the compiler's vector extensions lack, with AVX-512: registers of 64 bytes. Masks read and
// write parts of a register. registers_256.h has the same operations with AVX2, and
// portable/registers_portable.h for every processor.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace shardlens::cpu {

inline constexpr int kVectorBytes = 64;

typedef float FloatVector __attribute__((vector_size(kVectorBytes)));
typedef double DoubleVector __attribute__((vector_size(kVectorBytes)));
typedef uint32_t WordVector __attribute__((vector_size(kVectorBytes)));
typedef uint16_t ShortVector __attribute__((vector_size(kVectorBytes / 2)));

namespace registers {

/// a·b + c, rounded once.
[[gnu::always_inline]] inline FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector c) {
  return FloatVector(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
}
[[gnu::always_inline]] inline DoubleVector multiply_add(DoubleVector a, DoubleVector b, DoubleVector c) {
  return DoubleVector(_mm512_fmadd_pd(__m512d(a), __m512d(b), __m512d(c)));
}

/// A mask of the first `count` lanes, fewer than 32.
[[gnu::always_inline]] inline uint32_t first_lanes(int64_t count) {
  return (uint32_t{1} << count) - 1;
}

/// Reads only the first `count` elements. The other lanes are those of `fill`, or 0.
[[gnu::always_inline]] inline FloatVector load_first(const float* from, int64_t count, FloatVector fill) {
  return FloatVector(_mm512_mask_loadu_ps(__m512(fill), static_cast<__mmask16>(first_lanes(count)), from));
}
[[gnu::always_inline]] inline DoubleVector load_first(const double* from, int64_t count, DoubleVector fill) {
  return DoubleVector(_mm512_mask_loadu_pd(__m512d(fill), static_cast<__mmask8>(first_lanes(count)), from));
}
template <class Half>
[[gnu::always_inline]] inline ShortVector load_first(const Half* from, int64_t count) {
  static_assert(sizeof(Half) == 2);
  return ShortVector(_mm256_maskz_loadu_epi16(static_cast<__mmask16>(first_lanes(count)), from));
}

/// Writes the first `count` lanes and nothing behind them.
[[gnu::always_inline]] inline void store_first(float* to, FloatVector vector, int64_t count) {
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>(first_lanes(count)), __m512(vector));
}
[[gnu::always_inline]] inline void store_first(double* to, DoubleVector vector, int64_t count) {
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>(first_lanes(count)), __m512d(vector));
}
template <class Half>
[[gnu::always_inline]] inline void store_first(Half* to, ShortVector vector, int64_t count) {
  static_assert(sizeof(Half) == 2);
  _mm256_mask_storeu_epi16(to, static_cast<__mmask16>(first_lanes(count)), __m256i(vector));
}

/// Writes past the caches. `to` is aligned to a register.
[[gnu::always_inline]] inline void stream(float* to, FloatVector vector) {
  _mm512_stream_ps(to, __m512(vector));
}

/// Orders what stream() wrote before all later writes.
[[gnu::always_inline]] inline void settle_past_caches() {
  _mm_sfence();
}

/// Makes the compiler hold the value in a register from here on, instead of reading it again from memory.
template <class Vector>
[[gnu::always_inline]] inline void keep(Vector& vector) {
  asm("" : "+v"(vector));
}

/// Convert lane by lane; the compiler's own conversions take two halves. (The masks select all lanes. GCC 12
/// warns about the undefined operands of the forms without a mask.)
[[gnu::always_inline]] inline WordVector words_of(ShortVector shorts) {
  return WordVector(_mm512_maskz_cvtepu16_epi32(0xFFFF, __m256i(shorts)));
}
[[gnu::always_inline]] inline ShortVector shorts_of(WordVector words) {
  return ShortVector(_mm512_maskz_cvtepi32_epi16(0xFFFF, __m512i(words)));
}

}  // namespace registers

}  // namespace shardlens::cpu
