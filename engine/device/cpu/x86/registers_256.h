// Operations that the compiler's vector extensions lack, with AVX2: registers of 32 bytes. registers_512.h
// has the comments.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace shardlens::cpu {

inline constexpr int kVectorBytes = 32;

typedef float FloatVector __attribute__((vector_size(kVectorBytes)));
typedef double DoubleVector __attribute__((vector_size(kVectorBytes)));
typedef uint32_t WordVector __attribute__((vector_size(kVectorBytes)));
typedef uint16_t ShortVector __attribute__((vector_size(kVectorBytes / 2)));

namespace registers {

[[gnu::always_inline]] inline FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector c) {
  return FloatVector(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
}
[[gnu::always_inline]] inline DoubleVector multiply_add(DoubleVector a, DoubleVector b, DoubleVector c) {
  return DoubleVector(_mm256_fmadd_pd(__m256d(a), __m256d(b), __m256d(c)));
}

[[gnu::always_inline]] inline __m256i first_floats(int64_t count) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
}
[[gnu::always_inline]] inline __m256i first_doubles(int64_t count) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}

[[gnu::always_inline]] inline FloatVector load_first(const float* from, int64_t count, FloatVector fill) {
  const __m256i mask = first_floats(count);
  const __m256 read = _mm256_maskload_ps(from, mask);
  return FloatVector(_mm256_blendv_ps(__m256(fill), read, _mm256_castsi256_ps(mask)));
}
[[gnu::always_inline]] inline DoubleVector load_first(const double* from, int64_t count, DoubleVector fill) {
  const __m256i mask = first_doubles(count);
  const __m256d read = _mm256_maskload_pd(from, mask);
  return DoubleVector(_mm256_blendv_pd(__m256d(fill), read, _mm256_castsi256_pd(mask)));
}
template <class Half>  // there is no mask for 16 bits
[[gnu::always_inline]] inline ShortVector load_first(const Half* from, int64_t count) {
  static_assert(sizeof(Half) == 2);
  ShortVector shorts{};
  std::memcpy(&shorts, from, static_cast<size_t>(count) * sizeof(Half));
  return shorts;
}

[[gnu::always_inline]] inline void store_first(float* to, FloatVector vector, int64_t count) {
  _mm256_maskstore_ps(to, first_floats(count), __m256(vector));
}
[[gnu::always_inline]] inline void store_first(double* to, DoubleVector vector, int64_t count) {
  _mm256_maskstore_pd(to, first_doubles(count), __m256d(vector));
}
template <class Half>
[[gnu::always_inline]] inline void store_first(Half* to, ShortVector vector, int64_t count) {
  static_assert(sizeof(Half) == 2);
  std::memcpy(to, &vector, static_cast<size_t>(count) * sizeof(Half));
}

[[gnu::always_inline]] inline void stream(float* to, FloatVector vector) {
  _mm256_stream_ps(to, __m256(vector));
}

[[gnu::always_inline]] inline void settle_past_caches() {
  _mm_sfence();
}

template <class Vector>
[[gnu::always_inline]] inline void keep(Vector& vector) {
  asm("" : "+v"(vector));
}

[[gnu::always_inline]] inline WordVector words_of(ShortVector shorts) {
  return WordVector(_mm256_cvtepu16_epi32(__m128i(shorts)));
}
[[gnu::always_inline]] inline ShortVector shorts_of(WordVector words) {
  return __builtin_convertvector(words, ShortVector);
}

}  // namespace registers

}  // namespace shardlens::cpu
