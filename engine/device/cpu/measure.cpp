// Measuring memory at the speed it is read. The memory is taken in blocks that stay in the nearest cache, and
// each block is looked at three times there: for its hash, its statistics, and the sums of its columns, of
// which block means are made when the last of their rows is through.
#include "engine/device/measure.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/device/cpu/vector.h"

namespace shardlens {
namespace {

constexpr int64_t kBlock = 2048;  // numbers; of 2 bytes or more, so a multiple of a hash's stride

typedef uint64_t HashVector __attribute__((vector_size(64)));

// 32 multiply-and-rotate streams over words of 8 bytes, so that no multiplication waits for the one before.
class Hash {
 public:
  static constexpr size_t kStride = 4 * sizeof(HashVector);

  Hash() {
    for (uint64_t i = 0; i < 4; ++i)
      for (uint64_t lane = 0; lane < 8; ++lane) lanes_[i][lane] = 8 * i + lane + 1;
  }
  // Whole strides, but for the last call: what it lacks is zeros.
  void add(const void* data, size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    HashVector lanes[4] = {lanes_[0], lanes_[1], lanes_[2], lanes_[3]};
    for (; bytes >= kStride; bytes -= kStride, at += kStride) mix(lanes, at);
    if (bytes > 0) {
      unsigned char last[kStride] = {};
      std::memcpy(last, at, bytes);
      mix(lanes, last);
    }
    std::copy(lanes, lanes + 4, lanes_);
  }
  uint64_t of(uint64_t total_bytes) const {
    uint64_t hash = total_bytes;
    for (const HashVector& vector : lanes_)
      for (int lane = 0; lane < 8; ++lane) {
        hash = (hash ^ vector[lane]) * kMultiplier;
        hash = (hash << 29) | (hash >> 35);
      }
    return hash ^ (hash >> 31);
  }

 private:
  static constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15ull;  // 2^64 / golden ratio
  static void mix(HashVector (&lanes)[4], const unsigned char* at) {
    for (size_t i = 0; i < 4; ++i) {
      HashVector words;
      std::memcpy(&words, at + i * sizeof words, sizeof words);
      const HashVector mixed = (lanes[i] ^ words) * kMultiplier;
      lanes[i] = (mixed << 29) | (mixed >> 35);
    }
  }
  HashVector lanes_[4];
};

// Eight numbers as doubles at a time: the sums of a block.
template <class T>
cpu::DoubleVector wide(const T* from) {
  typedef T Eight __attribute__((vector_size(8 * sizeof(T))));
  Eight numbers;
  std::memcpy(&numbers, from, sizeof numbers);
  return __builtin_convertvector(numbers, cpu::DoubleVector);
}

// Of numbers of which some are not finite, or whose squares are not.
template <class T>
void add_one_by_one(const T* values, int64_t count, T& low, T& high, Measured& measured) {
  for (int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(values[i]);
    if (!std::isfinite(value)) {
      ++measured.not_finite;
      continue;
    }
    measured.sum += value;
    measured.squares += value * value;
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
  }
}

template <class T>
void add_statistics(const T* values, int64_t count, T& low, T& high, Measured& measured) {
  // Two vectors side by side, so that a comparison does not wait for the one before.
  constexpr int64_t kLanes = 16, kStep = 2 * kLanes;
  typedef T Sixteen __attribute__((vector_size(kLanes * sizeof(T))));
  Sixteen lows[2] = {Sixteen{} + low, Sixteen{} + low}, highs[2] = {Sixteen{} + high, Sixteen{} + high};
  cpu::DoubleVector sums[4] = {}, squares[4] = {};
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    for (int vector = 0; vector < 2; ++vector) {
      Sixteen numbers;
      std::memcpy(&numbers, values + i + kLanes * vector, sizeof numbers);
      lows[vector] = numbers < lows[vector] ? numbers : lows[vector];
      highs[vector] = numbers > highs[vector] ? numbers : highs[vector];
    }
    for (int quarter = 0; quarter < 4; ++quarter) {
      const cpu::DoubleVector doubles = wide(values + i + 8 * quarter);
      sums[quarter] += doubles;
      squares[quarter] += doubles * doubles;
    }
  }
  const double block_squares = cpu::sum_lanes<double>((squares[0] + squares[1]) + (squares[2] + squares[3]));
  // A sum of squares is finite where all its terms are.
  if (!std::isfinite(block_squares)) return add_one_by_one(values, count, low, high, measured);
  measured.sum += cpu::sum_lanes<double>((sums[0] + sums[1]) + (sums[2] + sums[3]));
  measured.squares += block_squares;
  for (int vector = 0; vector < 2; ++vector)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      low = std::min<T>(low, lows[vector][lane]);
      high = std::max<T>(high, highs[vector][lane]);
    }
  add_one_by_one(values + i, count - i, low, high, measured);
}

template <class T>
void add_columns(const T* __restrict values, int64_t count, double* __restrict columns) {
  for (int64_t i = 0; i < count; ++i) columns[i] += static_cast<double>(values[i]);
}

// Takes a matrix number by number, and writes a row of means whenever its last row is through.
class Means {
 public:
  Means(int64_t rows, int64_t cols, int mean_rows, int mean_cols, float* means)
      : rows_(rows), cols_(cols), mean_rows_(mean_rows), mean_cols_(mean_cols), means_(means) {
    static thread_local std::vector<double> columns;
    columns.assign(static_cast<size_t>(cols), 0);
    columns_ = columns.data();
  }

  template <class T>
  void add(const T* values, int64_t count) {
    while (count > 0) {
      const int64_t taken = std::min(count, cols_ - col_);
      add_columns(values, taken, columns_ + col_);
      values += taken;
      count -= taken;
      col_ += taken;
      if (col_ < cols_) return;
      col_ = 0;
      if (++row_ == begin_of(mean_row_ + 1, mean_rows_, rows_)) end_of_rows();
    }
  }

 private:
  static int64_t begin_of(int64_t cell, int64_t cells, int64_t extent) { return cell * extent / cells; }

  void end_of_rows() {
    const int64_t height = row_ - begin_of(mean_row_, mean_rows_, rows_);
    for (int64_t cell = 0; cell < mean_cols_; ++cell) {
      const int64_t begin = begin_of(cell, mean_cols_, cols_), end = begin_of(cell + 1, mean_cols_, cols_);
      double sum = 0;
      for (int64_t col = begin; col < end; ++col) sum += columns_[col];
      *means_++ = static_cast<float>(sum / static_cast<double>(height * (end - begin)));
    }
    std::fill_n(columns_, cols_, 0.0);
    ++mean_row_;
  }

  const int64_t rows_, cols_, mean_rows_, mean_cols_;
  float* means_;
  double* columns_;
  int64_t row_ = 0, col_ = 0, mean_row_ = 0;
};

// A block as the type it is computed in; 16-bit numbers are widened into `buffer`.
template <class Stored>
const cpu::Computed<Stored>* widened(const Stored* block, int64_t count, cpu::Computed<Stored>* buffer) {
  if constexpr (std::is_same_v<Stored, cpu::Computed<Stored>>) {
    return block;
  } else {
    cpu::convert_row(block, count, buffer);
    return buffer;
  }
}

template <class Stored, class With>
void for_blocks(const void* data, int64_t count, const With& with) {
  using T = cpu::Computed<Stored>;
  const auto* stored = static_cast<const Stored*>(data);
  alignas(64) T buffer[std::is_same_v<Stored, T> ? 1 : kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t size = std::min(kBlock, count - begin);
    // The next block comes from memory while this one is worked on.
    const int64_t ahead = std::min(kBlock, count - begin - size);
    for (int64_t i = 0; i < ahead; i += 64 / static_cast<int64_t>(sizeof(Stored)))
      __builtin_prefetch(stored + begin + size + i);
    with(stored + begin, widened(stored + begin, size, buffer), size);
  }
}

template <class With>
void with_type(DType dtype, const With& with) {
  switch (dtype) {
    case DType::Fp32:
      return with(float{});
    case DType::Fp64:
      return with(double{});
    case DType::Int32:
      return with(int32_t{});
    case DType::Bf16:
      return with(Bf16{});
    case DType::Fp16:
      return with(Fp16{});
  }
}

}  // namespace

Measured measure(DType dtype, const void* data, int64_t rows, int64_t cols, int mean_rows, int mean_cols,
                 float* means) {
  Measured measured;
  Hash hash;
  const int64_t count = rows * cols;
  with_type(dtype, [&](auto kind) {
    using Stored = decltype(kind);
    using T = cpu::Computed<Stored>;
    T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::lowest();
    if (count > 0) {
      Means picture(rows, cols, mean_rows, mean_cols, means);
      for_blocks<Stored>(data, count, [&](const Stored* stored, const T* values, int64_t size) {
        hash.add(stored, static_cast<size_t>(size) * sizeof(Stored));
        add_statistics(values, size, low, high, measured);
        picture.add(values, size);
      });
    }
    if (measured.not_finite < count) {
      measured.min = static_cast<double>(low);
      measured.max = static_cast<double>(high);
    }
    measured.hash = hash.of(static_cast<uint64_t>(count) * sizeof(Stored));
  });
  return measured;
}

void block_means(DType dtype, const void* data, int64_t rows, int64_t cols, int mean_rows, int mean_cols,
                 float* means) {
  if (rows * cols == 0) return;
  with_type(dtype, [&](auto kind) {
    using Stored = decltype(kind);
    Means picture(rows, cols, mean_rows, mean_cols, means);
    for_blocks<Stored>(data, rows * cols,
                       [&](const Stored*, const auto* values, int64_t size) { picture.add(values, size); });
  });
}

}  // namespace shardlens
