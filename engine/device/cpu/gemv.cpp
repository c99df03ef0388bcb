// The two forms of a row times a matrix, each reading B as one stream in the order it lies in and asking for
// it ahead: as fast as a core can read at all, but for a tenth, where oneDNN's kernels reached 70 %.
#include "engine/device/cpu/gemv.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

// A dot product does little between two reads, and is fastest with less asked for ahead than other passes.
constexpr uintptr_t kDotAheadBytes = 2048;

/// How many elements ahead of one of B that lies which has its turn `bytes` later, where rows of `width` are
/// read: so many on where they lie one behind the other, else in the row that comes then.
template <class S>
int64_t elements_ahead(Rows<const S> b, int64_t width, uintptr_t bytes) {
  const auto elements = static_cast<int64_t>(bytes / sizeof(S));
  if (b.stride == width || width == 0) return elements;
  return (elements + width - 1) / width * b.stride;
}

/// y[0, n) += x·B[0, 0 … n) of the first row of B; y stays in cache.
template <class T, class S>
void add_row(T x, Rows<const S> b, int64_t n, int64_t ahead, T* y) {
  for_vectors<T>(n, [&](int64_t i, auto count) {
    ask_for(b.first, i + ahead, 1);
    const Vector<T> sum = load_part(y + i, count, T(0)) + load_part(b.first + i, count, T(0)) * x;
    store_part<T>(y + i, sum, count);
  });
}

/// x·row, both [k].
template <class T, class S>
T dot(const T* x, const S* row, int64_t k, int64_t ahead) {
  constexpr int kSums = 2;  // lines at a time: with four they come from memory a quarter slower
  Vector<T> sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * kLanes<T> <= k; i += kSums * kLanes<T>)
    for (int s = 0; s < kSums; ++s) {
      const int64_t at = i + s * kLanes<T>;
      ask_for(row, at + ahead, 1);
      sums[s] += load_part(row + at, kLanes<T>, T(0)) * load(x + at);
    }
  for (; i < k; i += kLanes<T>) {
    const int64_t count = std::min(kLanes<T>, k - i);
    sums[0] += load_part(row + i, count, T(0)) * load_part(x + i, count, T(0));
  }
  return sum_lanes<T>(sums[0] + sums[1]);
}

// A word of 32 bits is two bf16 numbers: shifted up it is the first as fp32, without its lower half the
// second. So nothing moves from lane to lane, which took as long as the arithmetic: from the cache numbers
// come 1.5 to 1.8 times as fast as one by one.
constexpr int64_t kPairs = kLanes<float>;
struct Pairs {
  FloatVector first, second;
};

[[gnu::always_inline]] inline Pairs load_pairs(const Bf16* from) {
  WordVector words;
  std::memcpy(&words, from, sizeof words);
  return {std::bit_cast<FloatVector>(words << 16), std::bit_cast<FloatVector>(words & 0xFFFF0000u)};
}

// Of vectors a and b: a0, b0, a1, b1 and so on, from lane `begin` on.
[[gnu::always_inline]] inline FloatVector interleave(const Pairs& pairs, int begin) {
  typedef int32_t Lanes __attribute__((vector_size(kVectorBytes)));
  Lanes lanes{};
  for (int lane = 0; lane < kPairs; ++lane)
    lanes[lane] = begin + lane / 2 + (lane % 2) * static_cast<int>(kPairs);
  return __builtin_shuffle(pairs.first, pairs.second, lanes);
}

/// The same of bf16, whose rows are short: whole rows ahead are asked for.
void add_row(float x, Rows<const Bf16> b, int64_t n, int64_t, float* y) {
  constexpr int64_t kRowsAhead = 8;
  int64_t i = 0;
  for (; i + 2 * kPairs <= n; i += 2 * kPairs) {
    __builtin_prefetch(b.at(kRowsAhead) + i, 0, 2);
    const Pairs pairs = load_pairs(b.first + i), products{pairs.first * x, pairs.second * x};
    store<float>(y + i, load(y + i) + interleave(products, 0));
    store<float>(y + i + kPairs, load(y + i + kPairs) + interleave(products, kPairs / 2));
  }
  for (; i < n; ++i) y[i] += static_cast<float>(b.first[i]) * x;
}

/// What dot() wants of x: itself, or for bf16 its even elements and then its odd ones. Valid until the next
/// call.
template <class T, class S>
const T* factors_of(const T* x, Rows<const S>, int64_t) {
  return x;
}
const float* factors_of(const float* x, Rows<const Bf16>, int64_t k) {
  static thread_local std::vector<float> factors;
  factors.resize(static_cast<size_t>(k));
  const int64_t firsts = (k + 1) / 2;
  for (int64_t i = 0; i < k; ++i) factors[static_cast<size_t>(i / 2 + (i % 2 == 0 ? 0 : firsts))] = x[i];
  return factors.data();
}

/// x·row, both [k], x as factors_of() gives it.
float dot(const float* first, const Bf16* row, int64_t k, int64_t ahead) {
  const float* const second = first + (k + 1) / 2;
  Pairs sums[2] = {};
  int64_t i = 0;
  for (; i + 4 * kPairs <= k; i += 4 * kPairs)
    for (int s = 0; s < 2; ++s) {
      ask_for(row, i + s * 2 * kPairs + ahead, 1);
      const Pairs pairs = load_pairs(row + i + s * 2 * kPairs);
      sums[s].first += pairs.first * load(first + i / 2 + s * kPairs);
      sums[s].second += pairs.second * load(second + i / 2 + s * kPairs);
    }
  float sum = sum_lanes<float>((sums[0].first + sums[1].first) + (sums[0].second + sums[1].second));
  for (; i + 2 <= k; i += 2) {
    sum += static_cast<float>(row[i]) * first[i / 2];
    sum += static_cast<float>(row[i + 1]) * second[i / 2];
  }
  if (i < k) sum += static_cast<float>(row[i]) * first[i / 2];
  return sum;
}

}  // namespace

template <class T, class S>
void multiply_row(const T* x, Rows<const S> b, bool transpose_b, int64_t n, int64_t k, bool accumulate,
                  T* y) {
  if (transpose_b) {
    const T* const factors = factors_of(x, b, k);
    const int64_t ahead = elements_ahead(b, k, kDotAheadBytes);
    for (int64_t row = 0; row < n; ++row) {
      const T sum = dot(factors, b.at(row), k, ahead);
      y[row] = accumulate ? y[row] + sum : sum;
    }
    return;
  }
  if (!accumulate) std::fill_n(y, n, T(0));
  const int64_t ahead = elements_ahead(b, n, kAheadBytes);
  for (int64_t row = 0; row < k; ++row) add_row(x[row], b.from(row), n, ahead, y);
}

template void multiply_row(const float*, Rows<const float>, bool, int64_t, int64_t, bool, float*);
template void multiply_row(const double*, Rows<const double>, bool, int64_t, int64_t, bool, double*);
template void multiply_row(const float*, Rows<const Bf16>, bool, int64_t, int64_t, bool, float*);
template void multiply_row(const float*, Rows<const Fp16>, bool, int64_t, int64_t, bool, float*);

}  // namespace shardlens::cpu
