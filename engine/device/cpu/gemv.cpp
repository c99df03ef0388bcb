// The two forms of a row times a matrix, each reading B as one stream in the order it lies in and asking for
// it ahead: as fast as a core can read at all, but for 6 %, where oneDNN's kernels reached 70 %.
#include "engine/device/cpu/gemv.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

#include "engine/device/cpu/aligned.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

// Which cache a stream is asked for in, as the processor does best (TRIED.md).
enum class Into { First = 1, Second = 2 };

Into best_cache() {
  static const bool is_amd = __builtin_cpu_is("amd");
  return is_amd ? Into::First : Into::Second;
}

// So far ahead that it has come by its turn, where rows lie one behind the other; of short rows far apart,
// such as a head's in a cache, so much that most of them still profit.
constexpr int64_t ahead_in_stream_bytes(Into cache) {
  return cache == Into::First ? 10240 : 16384;
}
constexpr int64_t kAheadInRowsBytes = 2048;

/// How many elements ahead of one of B that lies which is to be asked for with it, where rows of `width` are
/// read: so many on where they lie one behind the other, else in the row that comes then.
template <Into kCache, class S>
int64_t elements_ahead(Rows<const S> b, int64_t width) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(S));
  if (b.stride == width || width == 0) return ahead_in_stream_bytes(kCache) / kSize;
  return (kAheadInRowsBytes / kSize + width - 1) / width * b.stride;
}

template <Into kCache, class S>
[[gnu::always_inline]] inline void ask(const S* from, int64_t element) {
  ask_for<static_cast<int>(kCache)>(from, element, 1);
}

/// y[0, n) += x·B[0, 0 … n) of the first row of B; y stays in cache. Two vectors a turn: a turn of one, eight
/// instructions, is a fifth slower on a Zen 5 with some orders of them, which are the compiler's to choose.
template <Into kCache, class T, class S>
void add_row(T x, Rows<const S> b, int64_t n, int64_t ahead, T* y) {
  const auto add = [&](int64_t i, auto count) {
    const Vector<T> sum = load_part(y + i, count, T(0)) + load_part(b.first + i, count, T(0)) * x;
    store_part<T>(y + i, sum, count);
  };
  constexpr std::integral_constant<int64_t, kLanes<T>> kWhole;
  int64_t i = 0;
  for (; i + 2 * kLanes<T> <= n; i += 2 * kLanes<T>) {
    ask<kCache>(b.first, i + ahead);
    ask<kCache>(b.first, i + kLanes<T> + ahead);
    add(i, kWhole);
    add(i + kLanes<T>, kWhole);
  }
  for_vectors<T>(n - i, [&](int64_t rest, auto count) { add(i + rest, count); });
}

/// x·row, both [k]. One running sum: with several the core runs further ahead of memory than what was asked
/// for, and is slower for it.
template <Into kCache, class T, class S>
T dot(const T* x, const S* row, int64_t k, int64_t ahead) {
  return sum_lanes<T>(fold_vectors<T>(k, Vector<T>{}, [&](Vector<T> sum, int64_t i, auto count) {
    ask<kCache>(row, i + ahead);
    return sum + load_part(row + i, count, T(0)) * load_part(x + i, count, T(0));
  }));
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

/// The same of bf16.
template <Into kCache>
void add_row(float x, Rows<const Bf16> b, int64_t n, int64_t ahead, float* y) {
  int64_t i = 0;
  for (; i + 2 * kPairs <= n; i += 2 * kPairs) {
    ask<kCache>(b.first, i + ahead);
    const Pairs pairs = load_pairs(b.first + i), products{pairs.first * x, pairs.second * x};
    store<float>(y + i, load(y + i) + interleave(products, 0));
    store<float>(y + i + kPairs, load(y + i + kPairs) + interleave(products, kPairs / 2));
  }
  for (; i < n; ++i) y[i] += static_cast<float>(b.first[i]) * x;
}

/// The x of each product as dot() wants it: itself, or for bf16 its even elements and then its odd ones.
/// Valid until the next call.
template <class T, class S>
std::span<const T* const> factors_of(std::span<const RowProduct<T, S>> products, int64_t k) {
  static thread_local std::vector<const T*> factors;
  factors.clear();
  for (const RowProduct<T, S>& product : products) factors.push_back(product.x);
  if constexpr (std::is_same_v<S, Bf16>) {
    static thread_local Aligned<T> numbers;
    numbers.resize(products.size() * static_cast<size_t>(k));
    const int64_t firsts = (k + 1) / 2;
    for (size_t product = 0; product < products.size(); ++product) {
      T* const to = numbers.data() + static_cast<int64_t>(product) * k;
      for (int64_t i = 0; i < k; ++i) to[i / 2 + (i % 2 == 0 ? 0 : firsts)] = products[product].x[i];
      factors[product] = to;
    }
  }
  return factors;
}

/// x·row, both [k], x as factors_of() gives it.
template <Into kCache>
float dot(const float* first, const Bf16* row, int64_t k, int64_t ahead) {
  const float* const second = first + (k + 1) / 2;
  Pairs sums{};
  int64_t i = 0;
  for (; i + 2 * kPairs <= k; i += 2 * kPairs) {
    ask<kCache>(row, i + ahead);
    const Pairs pairs = load_pairs(row + i);
    sums.first += pairs.first * load(first + i / 2);
    sums.second += pairs.second * load(second + i / 2);
  }
  float sum = sum_lanes<float>(sums.first + sums.second);
  for (; i + 2 <= k; i += 2) {
    sum += static_cast<float>(row[i]) * first[i / 2];
    sum += static_cast<float>(row[i + 1]) * second[i / 2];
  }
  if (i < k) sum += static_cast<float>(row[i]) * first[i / 2];
  return sum;
}

template <Into kCache, class T, class S>
void multiply_rows_from(std::span<const RowProduct<T, S>> products, bool transpose_b, int64_t n, int64_t k,
                        bool accumulate) {
  const int64_t ahead = elements_ahead<kCache>(products.front().b, transpose_b ? k : n);
  if (transpose_b) {
    const std::span<const T* const> factors = factors_of(products, k);
    for (int64_t row = 0; row < n; ++row)
      for (size_t i = 0; i < products.size(); ++i) {
        const T sum = dot<kCache>(factors[i], products[i].b.at(row), k, ahead);
        T& y = products[i].y[row];
        y = accumulate ? y + sum : sum;
      }
    return;
  }
  if (!accumulate)
    for (const RowProduct<T, S>& product : products) std::fill_n(product.y, n, T(0));
  for (int64_t row = 0; row < k; ++row)
    for (const RowProduct<T, S>& product : products)
      add_row<kCache>(product.x[row], product.b.from(row), n, ahead, product.y);
}

}  // namespace

template <class T, class S>
void multiply_rows(std::span<const RowProduct<T, S>> products, bool transpose_b, int64_t n, int64_t k,
                   bool accumulate) {
  if (products.empty()) return;
  if (best_cache() == Into::First)
    multiply_rows_from<Into::First>(products, transpose_b, n, k, accumulate);
  else
    multiply_rows_from<Into::Second>(products, transpose_b, n, k, accumulate);
}

template void multiply_rows(std::span<const RowProduct<float, float>>, bool, int64_t, int64_t, bool);
template void multiply_rows(std::span<const RowProduct<double, double>>, bool, int64_t, int64_t, bool);
template void multiply_rows(std::span<const RowProduct<float, Bf16>>, bool, int64_t, int64_t, bool);
template void multiply_rows(std::span<const RowProduct<float, Fp16>>, bool, int64_t, int64_t, bool);

}  // namespace shardlens::cpu
