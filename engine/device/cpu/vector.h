// Arithmetic on one register at a time, with the compiler's vector extensions. All elements take the same
// code path: a tail shorter than a vector is padded when it is read, and takes the same instructions as the
// rest. So an element's result does not depend on its position or the count, and a shard has the bits of the
// full tensor. A vector is as wide as the machine's registers. For a vector of two registers the compiler
// takes up to six times the instructions.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "engine/io/half.h"
#if defined(SHARDLENS_PORTABLE_KERNELS)
#include "engine/device/cpu/portable/registers_portable.h"
#elif defined(__AVX512BW__) && defined(__AVX512VL__)
#include "engine/device/cpu/x86/registers_512.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "engine/device/cpu/x86/registers_256.h"
#else
#error "a file that includes vector.h must be compiled with the kernels' options (cmake/kernels.cmake)"
#endif

namespace shardlens::cpu {

typedef int32_t Int32Vector __attribute__((vector_size(kVectorBytes)));
typedef int64_t Int64Vector __attribute__((vector_size(kVectorBytes)));

template <class T>
struct VectorTraits;
template <>
struct VectorTraits<float> {
  using Vector = FloatVector;
  using IntVector = Int32Vector;
  static constexpr int kMantissaBits = 23;
  static constexpr int kExponentBias = 127;
  static constexpr float kRoundMagic = 0x1.8p23f;  // adding and subtracting it rounds to the nearest integer
  static constexpr float kExpMin = -86.98f;  // below it half the result would be subnormal: 0 is returned
  static constexpr float kExpMax = 88.7f;
  static constexpr float kLn2High = 0x1.62e4p-1f;  // 15 bits, so that n * kLn2High is exact
  static constexpr float kLn2Low = 0x1.7f7d1cp-20f;
  static constexpr int kExpDegree = 7;
};
template <>
struct VectorTraits<double> {
  using Vector = DoubleVector;
  using IntVector = Int64Vector;
  static constexpr int kMantissaBits = 52;
  static constexpr int kExponentBias = 1023;
  static constexpr double kRoundMagic = 0x1.8p52;
  static constexpr double kExpMin = -708.04;
  static constexpr double kExpMax = 709.7;
  static constexpr double kLn2High = 0x1.62e42fee00000p-1;  // 32 bits
  static constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  static constexpr int kExpDegree = 13;
};

template <class T>
using Vector = typename VectorTraits<T>::Vector;

/// The type to compute in, for numbers stored as Stored: fp32 for 16-bit numbers, otherwise the same type.
template <class Stored>
struct ComputedIn {
  using Type = Stored;
};
template <>
struct ComputedIn<Bf16> {
  using Type = float;
};
template <>
struct ComputedIn<Fp16> {
  using Type = float;
};
template <class Stored>
using Computed = typename ComputedIn<Stored>::Type;

/// Elements in a vector: 16 floats or 8 doubles with AVX-512, half as many with AVX2, a quarter of them in
/// the portable kernels.
template <class T>
inline constexpr int64_t kLanes = kVectorBytes / static_cast<int64_t>(sizeof(T));

template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* from) {
  Vector<T> vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

/// a·b + c, rounded once (by portable kernels only where the processor has an instruction for it). It is
/// explicit, so that the compiler does not choose where to round.
template <class T>
[[gnu::always_inline]] inline Vector<T> multiply_add(Vector<T> a, Vector<T> b, Vector<T> c) {
  return registers::multiply_add(a, b, c);
}

template <class T>
[[gnu::always_inline]] inline void store(T* to, Vector<T> vector) {
  std::memcpy(to, &vector, sizeof vector);
}

/// Reads the first `count` elements, from 1 to a whole vector. The other lanes are `fill`.
template <class T>
[[gnu::always_inline]] inline Vector<T> load_part(const T* from, int64_t count, T fill) {
  if (count == kLanes<T>) return load(from);
  return registers::load_first(from, count, Vector<T>{} + fill);
}

template <class T>
[[gnu::always_inline]] inline void store_part(T* to, Vector<T> vector, int64_t count) {
  if (count == kLanes<T>) return store<T>(to, vector);
  registers::store_first(to, vector, count);
}

/// Orders writes past the caches before all later writes. Must be called before another thread may read them.
[[gnu::always_inline]] inline void settle_past_caches() {
  registers::settle_past_caches();
}

// A vector of 16-bit numbers is loaded as fp32 and rounded when it is stored.

/// Loads as many 16-bit numbers as a vector of fp32 has lanes. The lanes from `count` on are 0.
template <class Half>
[[gnu::always_inline]] inline ShortVector load_shorts(const Half* from, int64_t count) {
  if (count < kLanes<float>) return registers::load_first(from, count);
  ShortVector shorts;
  std::memcpy(&shorts, from, sizeof shorts);
  return shorts;
}

template <class Half>
[[gnu::always_inline]] inline void store_shorts(Half* to, ShortVector shorts, int64_t count) {
  if (count < kLanes<float>) return registers::store_first(to, shorts, count);
  std::memcpy(to, &shorts, sizeof shorts);
}

/// Sets the lanes from `count` on to `fill`. It need not be a number of the 16-bit format.
[[gnu::always_inline]] inline FloatVector filled(FloatVector vector, int64_t count, float fill) {
  if (count == kLanes<float>) return vector;
  Int32Vector lanes;
  for (int lane = 0; lane < kLanes<float>; ++lane) lanes[lane] = lane;
  return lanes < static_cast<int32_t>(count) ? vector : FloatVector{} + fill;
}

/// The 16-bit numbers in the lower halves of the words, as fp32.
template <class Half>
[[gnu::always_inline]] inline FloatVector widened(WordVector words) {
  if constexpr (std::is_same_v<Half, Bf16>)
    return half::widen_bfloat<FloatVector>(words);
  else
    return half::widen_half<FloatVector>(words);
}
template <class Half>
[[gnu::always_inline]] inline WordVector rounded(FloatVector vector) {
  if constexpr (std::is_same_v<Half, Bf16>)
    return half::round_bfloat<WordVector>(vector);
  else
    return half::round_half<WordVector>(vector);
}

[[gnu::always_inline]] inline FloatVector load_part(const Bf16* from, int64_t count, float fill) {
  return filled(widened<Bf16>(registers::words_of(load_shorts(from, count))), count, fill);
}

[[gnu::always_inline]] inline FloatVector load_part(const Fp16* from, int64_t count, float fill) {
  return filled(widened<Fp16>(registers::words_of(load_shorts(from, count))), count, fill);
}

[[gnu::always_inline]] inline void store_part(Bf16* to, FloatVector vector, int64_t count) {
  store_shorts(to, registers::shorts_of(rounded<Bf16>(vector)), count);
}

[[gnu::always_inline]] inline void store_part(Fp16* to, FloatVector vector, int64_t count) {
  store_shorts(to, registers::shorts_of(rounded<Fp16>(vector)), count);
}

/// A register full of numbers of type To, from the same number of fp32. (Combining them in memory would be
/// slow: they would be read back before the writes are done.)
template <class To>
[[gnu::always_inline]] inline FloatVector packed(const float* from) {
  if constexpr (sizeof(To) == sizeof(float)) {
    return load(from);
  } else {
    const ShortVector low = registers::shorts_of(rounded<To>(load(from))),
                      high = registers::shorts_of(rounded<To>(load(from + kLanes<float>)));
    return [&]<size_t... lane>(std::index_sequence<lane...>) {
      return FloatVector(__builtin_shufflevector(low, high, lane...));
    }
    (std::make_index_sequence<2 * kLanes<float>>());
  }
}

// A pass over memory that computes much for every element has few reads in progress and waits for each of
// them. The sum of 25 million exponentials took 37 ms, and 12 ms with a prefetch of this many bytes ahead. (A
// prefetch may go past the end, because it reads nothing.)
inline constexpr uintptr_t kAheadBytes = 4096;

/// Prefetches the memory that a pass will soon read, if it reads `from` now.
[[gnu::always_inline]] inline void ask_ahead(const void* from) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(from) + kAheadBytes));
}

/// load_part() with a prefetch, for passes over memory.
template <class S>
[[gnu::always_inline]] inline auto load_ahead(const S* from, int64_t count, Computed<S> fill) {
  ask_ahead(from);
  return load_part(from, count, fill);
}

/// Prefetches elements [first, first + count) of `from`. They may be past the end. A pass that only reads
/// prefetches into the second cache: the first cache has few reads in progress, and the current elements need
/// them.
template <int kCache = 1, class S>
[[gnu::always_inline]] inline void ask_for(const S* from, int64_t first, int64_t count) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(S));
  for (int64_t i = first; i < first + count; i += kLine)
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(from) +
                                                     static_cast<uintptr_t>(i) * sizeof(S)),
                       0, kCache == 1 ? 3 : 2);
}

/// The vector after a store as S and a load: rounded if S is a 16-bit format.
template <class S>
[[gnu::always_inline]] inline Vector<Computed<S>> as_stored(Vector<Computed<S>> vector) {
  if constexpr (std::is_same_v<S, Computed<S>>)
    return vector;
  else
    return widened<S>(rounded<S>(vector));
}

/// Calls body(i, n) for the n elements from i on, for all `count` elements: first whole vectors, whose n is a
/// constant for the compiler, so that there are no branches and no copies of single bytes, and then the rest.
template <class T, class Body>
[[gnu::always_inline]] inline void for_vectors(int64_t count, const Body& body) {
  int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) body(i, std::integral_constant<int64_t, kLanes<T>>());
  if (i < count) body(i, count - i);
}

/// value = body(value, i, n), with the calls of for_vectors() and `start` as the first value: for sums and
/// maxima. (A variable that a body of for_vectors() refers to would be kept in memory.)
template <class T, class Body>
[[gnu::always_inline]] inline Vector<T> fold_vectors(int64_t count, Vector<T> start, const Body& body) {
  Vector<T> value = start;
  int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>)
    value = body(value, i, std::integral_constant<int64_t, kLanes<T>>());
  return i < count ? body(value, i, count - i) : value;
}

/// to[i] = from[i], widened or rounded if the types differ.
template <class From, class To>
inline void convert_row(const From* from, int64_t count, To* to) {
  using T = Computed<From>;
  for_vectors<T>(count, [&](int64_t i, auto n) { store_part(to + i, load_part(from + i, n, T(0)), n); });
}

/// convert_row() past the caches, except for registers that the row does not fill. The overwritten memory
/// need not be read first, and nothing is evicted from the caches. settle_past_caches() must follow.
template <class To>
void write_past_caches(const float* from, int64_t count, To* to) {
  constexpr int64_t kNumbers = kVectorBytes / static_cast<int64_t>(sizeof(To));  // of a register
  int64_t done = 0;
  if (reinterpret_cast<uintptr_t>(to) % kVectorBytes == 0)
    for (; done + kNumbers <= count; done += kNumbers)
      registers::stream(reinterpret_cast<float*>(to + done), packed<To>(from + done));
  convert_row(from + done, count - done, to + done);
}

/// Combines all lanes with op(lanes, lanes): first the two halves, then their halves. The order is always the
/// same.
template <class T, class Lanes, class Op>
[[gnu::always_inline]] inline T fold_lanes(Lanes lanes, const Op& op) {
  constexpr size_t kHalf = sizeof lanes / sizeof(T) / 2;
  if constexpr (kHalf == 1)
    return op(lanes[0], lanes[1]);
  else  // with shuffles: a register with parts that are read through memory would always be kept there
    return [&]<size_t... lane>(std::index_sequence<lane...>) {
      return fold_lanes<T>(op(__builtin_shufflevector(lanes, lanes, lane...),
                              __builtin_shufflevector(lanes, lanes, (lane + kHalf)...)),
                           op);
    }
  (std::make_index_sequence<kHalf>());
}

template <class T, class Lanes>
[[gnu::always_inline]] inline T sum_lanes(Lanes lanes) {
  return fold_lanes<T>(lanes, [](auto a, auto b) { return a + b; });
}

/// The largest lane. The lanes must be numbers: a maximum that starts below all of them never becomes NaN.
template <class T>
[[gnu::always_inline]] inline T max_lanes(Vector<T> vector) {
  return fold_lanes<T>(vector, [](auto a, auto b) { return a > b ? a : b; });
}

/// e^x. The argument is reduced to x = n ln 2 + r with |r| <= ln(2)/2, where the Taylor polynomial of degree
/// 7 (fp32) or 13 (fp64) is at rounding. Error under 2 ulp; 0 below 2^-125 (fp32) or 2^-1021 (fp64), infinity
/// above, NaN for NaN.
template <class T>
[[gnu::always_inline]] inline Vector<T> exp(Vector<T> x) {
  using Traits = VectorTraits<T>;
  using IntVector = typename Traits::IntVector;
  const Vector<T> low = Vector<T>{} + Traits::kExpMin;
  const Vector<T> high = Vector<T>{} + Traits::kExpMax;
  Vector<T> clamped = x < low ? low : x;  // a NaN compares false and stays
  clamped = clamped > high ? high : clamped;

  const Vector<T> shifted =
      multiply_add<T>(clamped, Vector<T>{} + T(1.4426950408889634074), Vector<T>{} + Traits::kRoundMagic);
  const Vector<T> n = shifted - Traits::kRoundMagic;
  Vector<T> r = multiply_add<T>(n, Vector<T>{} - Traits::kLn2High, clamped);
  r = multiply_add<T>(n, Vector<T>{} - Traits::kLn2Low, r);

  // Twice the polynomial, because the power of two is halved below.
  T doubled[Traits::kExpDegree + 1] = {2};
  for (int i = 1; i <= Traits::kExpDegree; ++i) doubled[i] = doubled[i - 1] / T(i);
  Vector<T> polynomial = Vector<T>{} + doubled[Traits::kExpDegree];
  for (int i = Traits::kExpDegree - 1; i >= 0; --i)
    polynomial = multiply_add<T>(polynomial, r, Vector<T>{} + doubled[i]);

  // The low bits of `shifted` hold n; 2^(n-1) has exponent field n - 1 + bias. Halved, because n may be bias
  // + 1.
  IntVector bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + (Traits::kExponentBias - 1)) << Traits::kMantissaBits;
  Vector<T> half_power;
  std::memcpy(&half_power, &bits, sizeof half_power);
  Vector<T> result = polynomial * half_power;

  result = x < low ? Vector<T>{} : result;
  return x > high ? Vector<T>{} + std::numeric_limits<T>::infinity() : result;
}

}  // namespace shardlens::cpu
