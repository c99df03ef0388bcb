// The two forms of a row times a matrix. Each reads B as one stream in memory order and prefetches it. They
// come within 2 to 9 % of a core's fastest read speed; oneDNN's kernels reached 70 %.
#include "engine/device/cpu/gemv.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

#include "engine/device/cpu/aligned.h"
#include "engine/device/cpu/processor.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

// The distance at which a stream is prefetched, for the first and the second cache. 0: not into that one.
struct Ahead {
  int64_t first_bytes, second_bytes;
};

// The best way to prefetch depends on the processor (Prefetching) and on the rest of the loop (TRIED.md).
// Near: close to the processor's own prefetches, and not into the first cache; other prefetches would disturb
// them. Far: early enough that the data has arrived when it is needed.
struct Asking {
  Ahead ahead;
  int64_t together;  // vectors of y that are written together, after the same number of B was read
  bool in_halves;  // dot products with many rows of B read two streams, from the first row and the middle one
};
// A Zen 4 that writes after each vector reads memory at half its speed.
constexpr Asking kNear{{0, 512}, 4, true};              // AMD up to Zen 4
constexpr Asking kFar{{10240, 0}, 1, false};            // AMD since Zen 5
constexpr Asking kFarIntoSecond{{0, 16384}, 1, false};  // others
constexpr int64_t kManyNumbers = int64_t{1} << 20;      // more than the first two caches hold
constexpr int64_t kAheadInShortRowsBytes = 2048;  // for short rows far apart, such as a head's in a cache

template <Asking kAsking>
struct Best {
  static constexpr Asking value = kAsking;
};

/// The same distances in elements of B.
struct Distance {
  int64_t first, second;
};

/// The prefetch distance for rows of `width`: along the row if the rows are contiguous, otherwise in a later
/// row.
template <Ahead kAhead, class S>
Distance distance(Rows<const S> b, int64_t width) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(S));
  if (b.stride == width || width == 0) return {kAhead.first_bytes / kSize, kAhead.second_bytes / kSize};
  const int64_t rows = (kAheadInShortRowsBytes / kSize + width - 1) / width * b.stride;
  return {rows, rows};
}

template <Ahead kAhead, class S>
[[gnu::always_inline]] inline void ask(const S* now, Distance distance) {
  if constexpr (kAhead.first_bytes > 0) ask_for<1>(now, distance.first, 1);
  if constexpr (kAhead.second_bytes > 0) ask_for<2>(now, distance.second, 1);
}

template <class T>
constexpr std::integral_constant<int64_t, kLanes<T>> kWholeVector;

/// y[0, n) += x·B[0, 0 … n), the first row of B. y stays in cache. Each turn of the loop takes at least two
/// vectors. A turn of one vector has eight instructions, and some orders of them, which the compiler chooses,
/// are a fifth slower on a Zen 5.
template <Asking kAsking, class T, class S>
[[gnu::always_inline]] inline void add_row(T x, Rows<const S> b, int64_t n, Distance ahead, T* y) {
  constexpr int64_t kTurn = std::max<int64_t>(kAsking.together, 2);
  const auto sum = [&](int64_t i, auto count) {
    return load_part(y + i, count, T(0)) + load_part(b.first + i, count, T(0)) * x;
  };
  int64_t i = 0;
  for (; i + kTurn * kLanes<T> <= n; i += kTurn * kLanes<T>) {
    for (int64_t v = 0; v < kTurn; ++v) ask<kAsking.ahead>(b.first + i + v * kLanes<T>, ahead);
    if constexpr (kAsking.together == 1) {
      for (int64_t v = 0; v < kTurn; ++v)
        store<T>(y + i + v * kLanes<T>, sum(i + v * kLanes<T>, kWholeVector<T>));
    } else {
      Vector<T> sums[kTurn];
      for (int64_t v = 0; v < kTurn; ++v) sums[v] = sum(i + v * kLanes<T>, kWholeVector<T>);
      for (int64_t v = 0; v < kTurn; ++v) store<T>(y + i + v * kLanes<T>, sums[v]);
    }
  }
  for_vectors<T>(n - i,
                 [&](int64_t rest, auto count) { store_part<T>(y + i + rest, sum(i + rest, count), count); });
}

/// x·row, both [k], with one running sum. With several sums the core gets ahead of the prefetched memory and
/// is slower.
template <Ahead kAhead, class T, class S>
[[gnu::always_inline]] inline T dot(const T* x, const S* row, int64_t k, Distance ahead) {
  return sum_lanes<T>(fold_vectors<T>(k, Vector<T>{}, [&](Vector<T> sum, int64_t i, auto count) {
    ask<kAhead>(row + i, ahead);
    return sum + load_part(row + i, count, T(0)) * load_part(x + i, count, T(0));
  }));
}

// A 32-bit word holds two bf16 numbers. Shifted up it is the first one as fp32; with its lower half cleared
// it is the second one. So no number moves to another lane, which would take as long as the arithmetic:
// numbers in the cache are read 1.5 to 1.8 times as fast.
constexpr int64_t kPairs = kLanes<float>;
struct Pairs {
  FloatVector first, second;
};

[[gnu::always_inline]] inline Pairs load_pairs(const Bf16* from) {
  WordVector words;
  std::memcpy(&words, from, sizeof words);
  return {std::bit_cast<FloatVector>(words << 16), std::bit_cast<FloatVector>(words & 0xFFFF0000u)};
}

template <Ahead kAhead, int64_t kCount>
[[gnu::always_inline]] inline void add_pairs(float x, const Bf16* b, Distance ahead, float* y) {
  Pairs sums[kCount];
  for (int64_t v = 0; v < kCount; ++v) {
    const int64_t at = v * 2 * kPairs;
    ask<kAhead>(b + at, ahead);
    const Pairs pairs = load_pairs(b + at);
    sums[v].first = load(y + at) + pairs.first * x;
    sums[v].second = load(y + at + kPairs) + pairs.second * x;
  }
  for (int64_t v = 0; v < kCount; ++v) {
    store<float>(y + v * 2 * kPairs, sums[v].first);
    store<float>(y + v * 2 * kPairs + kPairs, sums[v].second);
  }
}

/// The same for bf16, with y in pairs: [n / 32] groups, each with the 16 sums of even elements and then those
/// of odd ones. The elements left over of n are in their usual order.
template <Asking kAsking>
[[gnu::always_inline]] inline void add_row(float x, Rows<const Bf16> b, int64_t n, Distance ahead, float* y) {
  constexpr int64_t kTurn = kAsking.together * 2 * kPairs;
  int64_t i = 0;
  if constexpr (kAsking.together > 1)
    for (; i + kTurn <= n; i += kTurn)
      add_pairs<kAsking.ahead, kAsking.together>(x, b.first + i, ahead, y + i);
  for (; i + 2 * kPairs <= n; i += 2 * kPairs) add_pairs<kAsking.ahead, 1>(x, b.first + i, ahead, y + i);
  for (; i < n; ++i) y[i] += static_cast<float>(b.first[i]) * x;
}

/// Calls body(i, its place in pairs) for all n elements.
template <class Body>
void for_pairs(int64_t n, const Body& body) {
  const int64_t in_pairs = n / (2 * kPairs) * (2 * kPairs);
  for (int64_t i = 0; i < in_pairs; i += 2 * kPairs)
    for (int64_t pair = 0; pair < kPairs; ++pair) {
      body(i + 2 * pair, i + pair);
      body(i + 2 * pair + 1, i + pair + kPairs);
    }
  for (int64_t i = in_pairs; i < n; ++i) body(i, i);
}

/// The x or the y of each product in the order of dot() and add_row(): the row itself, or for bf16 a copy in
/// pairs. Valid until the next call.
template <class Row, class T, class S>
std::span<const Row> in_pairs(std::span<const RowProduct<T, S>> products, Row RowProduct<T, S>::*row,
                              int64_t n) {
  static thread_local std::vector<Row> rows;
  rows.clear();
  for (const RowProduct<T, S>& product : products) rows.push_back(product.*row);
  if constexpr (std::is_same_v<S, Bf16>) {
    static thread_local Aligned<T> numbers;
    constexpr int64_t kLines = 2 * kPairs;  // 64 or 128 bytes, so that each row begins at a cache line
    const int64_t room = (n + kLines - 1) / kLines * kLines;
    numbers.resize(products.size() * static_cast<size_t>(room));
    for (size_t product = 0; product < products.size(); ++product) {
      const T* const from = rows[product];
      T* const to = numbers.data() + static_cast<int64_t>(product) * room;
      for_pairs(n, [&](int64_t i, int64_t place) { to[place] = from[i]; });
      rows[product] = to;
    }
  }
  return rows;
}

template <class T, class S>
void put_back(std::span<const RowProduct<T, S>> products, std::span<T* const> sums, int64_t n) {
  if constexpr (std::is_same_v<S, Bf16>)
    for (size_t product = 0; product < products.size(); ++product)
      for_pairs(n, [y = products[product].y, from = sums[product]](int64_t i, int64_t place) {
        y[i] = from[place];
      });
}

/// x·row, both [k], x in pairs.
template <Ahead kAhead>
[[gnu::always_inline]] inline float dot(const float* x, const Bf16* row, int64_t k, Distance ahead) {
  Pairs sums{};
  int64_t i = 0;
  for (; i + 2 * kPairs <= k; i += 2 * kPairs) {
    ask<kAhead>(row + i, ahead);
    const Pairs pairs = load_pairs(row + i);
    sums.first += pairs.first * load(x + i);
    sums.second += pairs.second * load(x + i + kPairs);
  }
  float sum = sum_lanes<float>(sums.first + sums.second);
  for (; i < k; ++i) sum += static_cast<float>(row[i]) * x[i];
  return sum;
}

/// x·row for two rows, each with the bits of dot().
template <Ahead kAhead, class T, class S>
[[gnu::always_inline]] inline std::array<T, 2> two_dots(const T* x, const S* one, const S* other, int64_t k,
                                                        Distance ahead) {
  Vector<T> first{}, second{};
  for_vectors<T>(k, [&](int64_t i, auto count) {
    ask<kAhead>(one + i, ahead);
    ask<kAhead>(other + i, ahead);
    const Vector<T> factor = load_part(x + i, count, T(0));
    first = first + load_part(one + i, count, T(0)) * factor;
    second = second + load_part(other + i, count, T(0)) * factor;
  });
  return {sum_lanes<T>(first), sum_lanes<T>(second)};
}

template <Ahead kAhead>
[[gnu::always_inline]] inline std::array<float, 2> two_dots(const float* x, const Bf16* one,
                                                            const Bf16* other, int64_t k, Distance ahead) {
  Pairs first{}, second{};
  int64_t i = 0;
  for (; i + 2 * kPairs <= k; i += 2 * kPairs) {
    ask<kAhead>(one + i, ahead);
    ask<kAhead>(other + i, ahead);
    const FloatVector even = load(x + i), odd = load(x + i + kPairs);
    const Pairs of_one = load_pairs(one + i), of_other = load_pairs(other + i);
    first.first += of_one.first * even;
    first.second += of_one.second * odd;
    second.first += of_other.first * even;
    second.second += of_other.second * odd;
  }
  std::array<float, 2> sums{sum_lanes<float>(first.first + first.second),
                            sum_lanes<float>(second.first + second.second)};
  for (; i < k; ++i) {
    sums[0] += static_cast<float>(one[i]) * x[i];
    sums[1] += static_cast<float>(other[i]) * x[i];
  }
  return sums;
}

/// Calls body(width of a row). The widths of usual heads are constants for the compiler, because the loop
/// over such a short row costs half as much as its work.
template <class Body>
void with_width(int64_t width, const Body& body) {
  if (width == 64) return body(std::integral_constant<int64_t, 64>());
  if (width == 128) return body(std::integral_constant<int64_t, 128>());
  body(width);
}

template <Asking kAsking, class T, class S>
void multiply_rows_from(std::span<const RowProduct<T, S>> products, bool transpose_b, int64_t n, int64_t k,
                        bool accumulate) {
  if (transpose_b) {
    const Distance ahead = distance<kAsking.ahead>(products.front().b, k);
    const std::span<const T* const> factors = in_pairs(products, &RowProduct<T, S>::x, k);
    const auto put = [accumulate](T& y, T sum) { y = accumulate ? y + sum : sum; };
    int64_t done = 0;
    if constexpr (kAsking.in_halves) {
      if (products.size() == 1 && n * k >= kManyNumbers) {
        const int64_t half = n / 2;
        const RowProduct<T, S>& product = products.front();
        for (; done < half; ++done) {
          const std::array<T, 2> sums =
              two_dots<kAsking.ahead>(factors[0], product.b.at(done), product.b.at(half + done), k, ahead);
          put(product.y[done], sums[0]);
          put(product.y[half + done], sums[1]);
        }
        done = 2 * half;
      }
    }
    return with_width(k, [&](auto width) {
      for (int64_t row = done; row < n; ++row)
        for (size_t i = 0; i < products.size(); ++i) {
          put(products[i].y[row], dot<kAsking.ahead>(factors[i], products[i].b.at(row), width, ahead));
        }
    });
  }
  if (!accumulate)
    for (const RowProduct<T, S>& product : products) std::fill_n(product.y, n, T(0));
  const Distance ahead = distance<kAsking.ahead>(products.front().b, n);
  const std::span<T* const> sums = in_pairs(products, &RowProduct<T, S>::y, n);
  with_width(n, [&](auto width) {
    for (int64_t row = 0; row < k; ++row)
      for (size_t i = 0; i < products.size(); ++i)
        add_row<kAsking>(products[i].x[row], products[i].b.from(row), width, ahead, sums[i]);
  });
  put_back(products, sums, n);
}

/// y[0, kPanelCols) += x·B for one panel of B.
template <Asking kAsking, class T, class S>
void add_panel(const T* x, const S* panel, int64_t k, T* y) {
  constexpr int64_t kVectors = kPanelCols / kLanes<T>;
  const Distance ahead = distance<kAsking.ahead>(Rows<const S>{panel, kPanelCols}, kPanelCols);
  Vector<T> sums[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) sums[v] = load(y + v * kLanes<T>);
  for (const T* const end = x + k; x != end; ++x, panel += kPanelCols)
    for (int64_t v = 0; v < kVectors; ++v) {
      ask<kAsking.ahead>(panel + v * kLanes<T>, ahead);
      sums[v] = sums[v] + load_part(panel + v * kLanes<T>, kWholeVector<T>, T(0)) * *x;
    }
  for (int64_t v = 0; v < kVectors; ++v) store<T>(y + v * kLanes<T>, sums[v]);
}

template <Asking kAsking>
void add_panel(const float* x, const Bf16* panel, int64_t k, float* y) {
  constexpr int64_t kWords = kPanelCols / (2 * kPairs);
  const Distance ahead = distance<kAsking.ahead>(Rows<const Bf16>{panel, kPanelCols}, kPanelCols);
  alignas(64) float in_pairs[kPanelCols];
  for_pairs(kPanelCols, [&](int64_t i, int64_t place) { in_pairs[place] = y[i]; });
  Pairs sums[kWords];
  for (int64_t v = 0; v < kWords; ++v)
    sums[v] = {load(in_pairs + v * 2 * kPairs), load(in_pairs + v * 2 * kPairs + kPairs)};
  for (const float* const end = x + k; x != end; ++x, panel += kPanelCols)
    for (int64_t v = 0; v < kWords; ++v) {
      ask<kAsking.ahead>(panel + v * 2 * kPairs, ahead);
      const Pairs pairs = load_pairs(panel + v * 2 * kPairs);
      sums[v].first = sums[v].first + pairs.first * *x;
      sums[v].second = sums[v].second + pairs.second * *x;
    }
  for (int64_t v = 0; v < kWords; ++v) {
    store<float>(in_pairs + v * 2 * kPairs, sums[v].first);
    store<float>(in_pairs + v * 2 * kPairs + kPairs, sums[v].second);
  }
  for_pairs(kPanelCols, [&](int64_t i, int64_t place) { y[i] = in_pairs[place]; });
}

template <Asking kAsking, class T, class S>
void multiply_panels_from(const T* x, const S* panels, int64_t n, int64_t k, Range cols, T* y) {
  for (int64_t col = cols.begin, end; col < cols.end; col = end) {
    const int64_t begin = col / kPanelCols * kPanelCols, width = std::min(kPanelCols, n - begin);
    end = std::min(cols.end, begin + width);
    T* const sums = y + (col - cols.begin);
    if (end - col == kPanelCols) {
      add_panel<kAsking>(x, panels + begin * k, k, sums);
      continue;
    }
    const RowProduct<T, S> part{x, {panels + begin * k + (col - begin), width}, sums};
    multiply_rows_from<kAsking>(std::span(&part, 1), false, end - col, k, true);
  }
}

/// Calls body(Best) with the best way to prefetch on this processor.
template <class Body>
void with_asking(const Body& body) {
  static const Prefetching best = best_prefetching();
  switch (best) {
    case Prefetching::Near:
      return body(Best<kNear>());
    case Prefetching::Far:
      return body(Best<kFar>());
    case Prefetching::FarIntoSecond:
      return body(Best<kFarIntoSecond>());
  }
}

}  // namespace

template <class T, class S>
void multiply_rows(std::span<const RowProduct<T, S>> products, bool transpose_b, int64_t n, int64_t k,
                   bool accumulate) {
  if (products.empty()) return;
  with_asking([&](auto asking) {
    multiply_rows_from<decltype(asking)::value>(products, transpose_b, n, k, accumulate);
  });
}

template <class T, class S>
void multiply_panels(const T* x, const S* panels, int64_t n, int64_t k, Range cols, T* y) {
  with_asking([&](auto asking) { multiply_panels_from<decltype(asking)::value>(x, panels, n, k, cols, y); });
}

template void multiply_panels(const float*, const float*, int64_t, int64_t, Range, float*);
template void multiply_panels(const double*, const double*, int64_t, int64_t, Range, double*);
template void multiply_panels(const float*, const Bf16*, int64_t, int64_t, Range, float*);
template void multiply_panels(const float*, const Fp16*, int64_t, int64_t, Range, float*);
template void multiply_rows(std::span<const RowProduct<float, float>>, bool, int64_t, int64_t, bool);
template void multiply_rows(std::span<const RowProduct<double, double>>, bool, int64_t, int64_t, bool);
template void multiply_rows(std::span<const RowProduct<float, Bf16>>, bool, int64_t, int64_t, bool);
template void multiply_rows(std::span<const RowProduct<float, Fp16>>, bool, int64_t, int64_t, bool);

}  // namespace shardlens::cpu
