// Measures a tensor at the speed of memory. A matrix is taken in groups: a few whole rows, or a part of a
// long row. Each group goes into the hash, the statistics and the sums of columns; block means are computed
// after the last of their rows. A group is read once if its rows are whole strides of the hash. Otherwise it
// is read twice, and stays in the nearest cache for the second time.
#include "engine/device/measure.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/device/cpu/vector.h"

namespace shardlens {
namespace {

constexpr int64_t kGroup = 8192;   // numbers at most, and
constexpr int64_t kGroupRows = 8;  // rows

// Both passes over a group prefetch the next group, so that memory is never idle. (If only the first pass
// does, pictures of a GPT-2 124M step take a fifth longer.)
constexpr size_t kAhead = kGroup * sizeof(float);  // bytes

void fetch(const char* at) {
  __builtin_prefetch(at, 0, 2);
}

// A single pass prefetches less: each line must be in the nearest cache when it is read.
constexpr size_t kJustAhead = 8192;  // bytes

typedef uint64_t HashVector __attribute__((vector_size(64)));
constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15ull;  // 2^64 / golden ratio

// 32 streams of multiply and rotate over words of 8 bytes, so that no multiplication waits for the previous
// one.
class Hash {
 public:
  static constexpr size_t kStride = 4 * sizeof(HashVector);
  struct Streams {
    HashVector lanes[4];
  };

  Hash() {
    for (uint64_t i = 0; i < 4; ++i)
      for (uint64_t lane = 0; lane < 8; ++lane) streams_.lanes[i][lane] = 8 * i + lane + 1;
  }
  /// Mixes the next vector into a quarter of the streams.
  [[gnu::always_inline]] static void mix(HashVector& lanes, const void* at) {
    HashVector words;
    std::memcpy(&words, at, sizeof words);
    const HashVector mixed = (lanes ^ words) * kMultiplier;
    lanes = (mixed << 29) | (mixed >> 35);
  }
  // Adds whole strides. Only the last call may end within a stride, which is filled with zeros.
  void add(const void* data, size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    Streams streams = streams_;
    for (; bytes >= kStride; bytes -= kStride, at += kStride) {
      for (size_t line = 0; line < kStride; line += 64)
        fetch(reinterpret_cast<const char*>(at) + kAhead + line);
      for (size_t i = 0; i < 4; ++i) mix(streams.lanes[i], at + i * sizeof(HashVector));
    }
    if (bytes > 0) {
      unsigned char last[kStride] = {};
      std::memcpy(last, at, bytes);
      for (size_t i = 0; i < 4; ++i) mix(streams.lanes[i], last + i * sizeof(HashVector));
    }
    streams_ = streams;
  }
  /// For callers that mix whole strides themselves.
  Streams& streams() { return streams_; }
  uint64_t of(uint64_t total_bytes) const {
    uint64_t hash = total_bytes;
    for (const HashVector& vector : streams_.lanes)
      for (int lane = 0; lane < 8; ++lane) {
        hash = (hash ^ vector[lane]) * kMultiplier;
        hash = (hash << 29) | (hash >> 35);
      }
    return hash ^ (hash >> 31);
  }

 private:
  Streams streams_;
};

// Numbers are summed a few at a time in the type `Few`, and then in double. Floats are summed as floats, at
// most kFew of them, which is as fast as the cache. Other types are summed as doubles.
template <class T>
using Few = std::conditional_t<std::is_same_v<T, float>, float, double>;
constexpr int64_t kFew = 64;

// Loads as many numbers as a vector of `Few` has lanes.
[[gnu::always_inline]] inline cpu::FloatVector few(const float* from) {
  return cpu::load(from);
}
template <class T>
[[gnu::always_inline]] inline cpu::DoubleVector few(const T* from) {
  typedef T Numbers __attribute__((vector_size(cpu::kLanes<double> * sizeof(T))));
  Numbers numbers;
  std::memcpy(&numbers, from, sizeof numbers);
  return __builtin_convertvector(numbers, cpu::DoubleVector);
}

// Adds the two halves of the vector in double.
double sum_wide(cpu::FloatVector vector) {
  typedef float Half __attribute__((vector_size(cpu::kVectorBytes / 2)));
  Half low, high;
  std::memcpy(&low, &vector, sizeof low);
  std::memcpy(&high, reinterpret_cast<const char*>(&vector) + sizeof low, sizeof high);
  return cpu::sum_lanes<double>(__builtin_convertvector(low, cpu::DoubleVector) +
                                __builtin_convertvector(high, cpu::DoubleVector));
}
double sum_wide(cpu::DoubleVector vector) {
  return cpu::sum_lanes<double>(vector);
}

// Computes the statistics and block means of a matrix, group by group.
template <class T>
class Summary {
 public:
  Summary(int64_t rows, int64_t cols, int mean_rows, int mean_cols, float* means)
      : rows_(rows), cols_(cols), mean_rows_(mean_rows), mean_cols_(mean_cols), means_(means) {
    static thread_local std::vector<Few<T>> columns;
    static thread_local std::vector<double> cells;
    static thread_local std::vector<int64_t> begins;
    static thread_local std::vector<double> shares;
    columns.resize(static_cast<size_t>(cols));
    cells.assign(static_cast<size_t>(mean_cols), 0);
    begins.assign(1, 0);
    shares.clear();
    for (int64_t cell = 1; cell <= mean_cols; ++cell) {
      begins.push_back(begin_of(cell, mean_cols, cols));
      shares.push_back(
          1 / static_cast<double>(begins[static_cast<size_t>(cell)] - begins[static_cast<size_t>(cell - 1)]));
    }
    columns_ = columns.data();
    cells_ = cells.data();
    cell_begins_ = begins.data();
    cell_shares_ = shares.data();
  }

  /// The size of the next group: whole rows of one mean, or a part of a row.
  int64_t next() const {
    if (cols_ > kGroup) return std::min(cols_ - col_, kGroup);
    const int64_t rows = takes_hash() ? kGroup / cols_ : std::min(kGroupRows, kGroup / cols_);
    return cols_ * std::min({rows, end_of_mean_row() - row_, kFew - summed_rows_});
  }

  /// True if one pass can compute the hash too: there are enough registers, and groups end at strides of the
  /// hash.
  bool takes_hash() const {
    return std::is_same_v<T, float> && sizeof(Vector) == sizeof(HashVector) &&
           cols_ % (kSideBySide * kLanes) == 0;
  }

  /// Adds the next group, and mixes it into the hash.
  void add(const T* values, int64_t count, Hash::Streams& streams) {
    const int64_t width = std::min(count, cols_), rows = count / width;
    Few<T>* const columns = columns_ + col_;
    if (summed_rows_ == 0) std::fill_n(columns, width, Few<T>(0));
    Sums sums[kSideBySide];
    std::fill_n(sums, kSideBySide, Sums{lows_, highs_, {}, {}});
    Hash::Streams mixed = streams;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = 0; col < width; col += kSideBySide * kLanes)
        for (int64_t v = 0; v < kSideBySide; ++v) {
          const T* const from = values + row * width + col + v * kLanes;
          __builtin_prefetch(reinterpret_cast<const char*>(from) + kJustAhead);
          const Vector numbers = few(from);
          Few<T>* const at = columns + col + v * kLanes;
          cpu::store<Few<T>>(at, cpu::load<Few<T>>(at) + numbers);
          sums[v].sums += numbers;
          add_to(sums[v], numbers);
          Hash::mix(mixed.lanes[v], from);
        }
    streams = mixed;
    add_statistics(sums, values, rows, width, width);
    end_of_group(rows, width);
  }

  /// Adds the next group.
  void add(const T* values, int64_t count) {
    const int64_t width = std::min(count, cols_), rows = count / width;
    // Four independent vectors, so that none waits for the previous one.
    Sums sums[kSideBySide];
    std::fill_n(sums, kSideBySide, Sums{lows_, highs_, {}, {}});
    int64_t col = 0;
    for (; col + kSideBySide * kLanes <= width; col += kSideBySide * kLanes)
      add_strip<kSideBySide>(values + col, rows, width, columns_ + col_ + col, sums);
    for (; col + kLanes <= width; col += kLanes)
      add_strip<1>(values + col, rows, width, columns_ + col_ + col, sums);
    add_tail(values, rows, width, col);
    add_statistics(sums, values, rows, width, col);
    end_of_group(rows, width);
  }

  /// Writes the statistics of all groups.
  void write(Measured& measured) const {
    measured.sum = sum_;
    measured.squares = squares_;
    measured.not_finite = not_finite_;
    if (not_finite_ == rows_ * cols_) return;
    measured.min = static_cast<double>(low_);
    measured.max = static_cast<double>(high_);
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      measured.min = std::min(measured.min, static_cast<double>(lows_[lane]));
      measured.max = std::max(measured.max, static_cast<double>(highs_[lane]));
    }
  }

 private:
  using Vector = cpu::Vector<Few<T>>;
  static constexpr int64_t kLanes = cpu::kLanes<Few<T>>;
  static constexpr int64_t kSideBySide = 4;
  static constexpr double kLeastSquares = std::is_same_v<T, float> ? 1e-30 : 0;

  struct Sums {
    Vector lows, highs, sums, squares;
  };

  static Vector least(Vector a, Vector b) { return b < a ? b : a; }
  static Vector most(Vector a, Vector b) { return b > a ? b : a; }
  static int64_t begin_of(int64_t cell, int64_t cells, int64_t extent) { return cell * extent / cells; }
  int64_t end_of_mean_row() const { return begin_of(mean_row_ + 1, mean_rows_, rows_); }

  [[gnu::always_inline]] static void add_to(Sums& sums, Vector numbers) {
    sums.lows = least(sums.lows, numbers);
    sums.highs = most(sums.highs, numbers);
    sums.squares += numbers * numbers;
  }

  // Adds `vectors` vectors of columns of a few rows, which are `stride` numbers apart.
  template <int64_t vectors>
  void add_strip(const T* values, int64_t rows, int64_t stride, Few<T>* columns, Sums* sums) const {
    Vector strip[vectors] = {};
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v) {
        const T* const from = values + row * stride + v * kLanes;
        fetch(reinterpret_cast<const char*>(from) + kAhead);
        const Vector numbers = few(from);
        strip[v] += numbers;
        add_to(sums[v], numbers);
      }
    for (int64_t v = 0; v < vectors; ++v) {
      sums[v].sums += strip[v];
      Few<T>* const at = columns + v * kLanes;
      cpu::store<Few<T>>(at, summed_rows_ == 0 ? strip[v] : cpu::load<Few<T>>(at) + strip[v]);
    }
  }

  // Adds the columns from `begin` on, which do not fill a vector.
  void add_tail(const T* values, int64_t rows, int64_t width, int64_t begin) {
    for (int64_t col = begin; col < width; ++col) {
      Few<T>& column = columns_[col_ + col];
      if (summed_rows_ == 0) column = 0;
      for (int64_t row = 0; row < rows; ++row) column += static_cast<Few<T>>(values[row * width + col]);
    }
  }

  // `sums` has the columns before `end`.
  void add_statistics(const Sums* sums, const T* values, int64_t rows, int64_t width, int64_t end) {
    Sums all = sums[0];
    for (int64_t v = 1; v < kSideBySide; ++v)
      all = {least(all.lows, sums[v].lows), most(all.highs, sums[v].highs), all.sums + sums[v].sums,
             all.squares + sums[v].squares};
    const double squares = sum_wide(all.squares);
    // A finite sum of squares has only finite terms. It loses none of them if it is far above the smallest
    // numbers.
    const bool counts = std::isfinite(squares) && (squares > kLeastSquares || is_zero(values, rows * width));
    if (counts) {
      sum_ += sum_wide(all.sums);
      squares_ += squares;
      lows_ = all.lows;
      highs_ = all.highs;
    }
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = counts ? end : 0; col < width; ++col) add_number(values[row * width + col]);
  }

  static bool is_zero(const T* values, int64_t count) {
    return std::all_of(values, values + count, [](T value) { return value == T(0); });
  }

  void add_number(T number) {
    const double value = static_cast<double>(number);
    if (!std::isfinite(value)) {
      ++not_finite_;
      return;
    }
    sum_ += value;
    squares_ += value * value;
    low_ = std::min(low_, number);
    high_ = std::max(high_, number);
  }

  void end_of_group(int64_t rows, int64_t width) {
    col_ += width;
    if (col_ < cols_) return;
    col_ = 0;
    row_ += rows;
    summed_rows_ += rows;
    const bool last = row_ == end_of_mean_row();
    if (!last && summed_rows_ < kFew) return;
    for (int64_t cell = 0; cell < mean_cols_; ++cell)
      cells_[cell] += sum_columns(cell_begins_[cell], cell_begins_[cell + 1]);
    summed_rows_ = 0;
    if (last) write_means();
  }

  double sum_columns(int64_t begin, int64_t end) const {
    typedef Few<T> Four __attribute__((vector_size(4 * sizeof(Few<T>))));
    double sum = 0;
    for (int64_t col = begin; col < end;) {
      const int64_t stop = std::min(end, col + kFew);
      Four sums = {};
      for (; col + 4 <= stop; col += 4) {
        Four columns;
        std::memcpy(&columns, columns_ + col, sizeof columns);
        sums += columns;
      }
      for (; col < stop; ++col) sum += static_cast<double>(columns_[col]);
      sum += (static_cast<double>(sums[0]) + static_cast<double>(sums[1])) +
             (static_cast<double>(sums[2]) + static_cast<double>(sums[3]));
    }
    return sum;
  }

  void write_means() {
    const double share = 1 / static_cast<double>(row_ - begin_of(mean_row_, mean_rows_, rows_));  // of a row
    for (int64_t cell = 0; cell < mean_cols_; ++cell)
      means_[cell] = static_cast<float>(cells_[cell] * cell_shares_[cell] * share);
    std::fill_n(cells_, mean_cols_, 0.0);
    means_ += mean_cols_;
    ++mean_row_;
  }

  const int64_t rows_, cols_, mean_rows_, mean_cols_;
  float* means_;
  Few<T>* columns_;             // [cols], of the rows since they were last added to the cells
  double* cells_;               // [mean_cols]
  const int64_t* cell_begins_;  // [mean_cols + 1], columns
  const double* cell_shares_;   // [mean_cols], of a column in its cell's mean
  int64_t row_ = 0, col_ = 0, mean_row_ = 0, summed_rows_ = 0;

  Vector lows_ = Vector{} + std::numeric_limits<Few<T>>::max();
  Vector highs_ = Vector{} + std::numeric_limits<Few<T>>::lowest();
  T low_ = std::numeric_limits<T>::max(), high_ = std::numeric_limits<T>::lowest();
  double sum_ = 0, squares_ = 0;
  int64_t not_finite_ = 0;
};

// A group in the type to compute in. 16-bit numbers are widened into `buffer`.
template <class Stored>
const cpu::Computed<Stored>* widened(const Stored* group, int64_t count, cpu::Computed<Stored>* buffer) {
  if constexpr (std::is_same_v<Stored, cpu::Computed<Stored>>) {
    return group;
  } else {
    cpu::convert_row(group, count, buffer);
    return buffer;
  }
}

// Adds `count` numbers to the summary, and mixes their bytes into `hash` unless that is null.
template <class Stored>
void summarize(const Stored* stored, int64_t count, Summary<cpu::Computed<Stored>>& summary, Hash* hash) {
  using T = cpu::Computed<Stored>;
  if constexpr (std::is_same_v<Stored, float>)
    if (summary.takes_hash()) {
      Hash unasked;
      Hash::Streams& streams = (hash ? hash : &unasked)->streams();
      for (int64_t begin = 0, size; begin < count; begin += size)
        summary.add(stored + begin, size = summary.next(), streams);
      return;
    }
  alignas(64) T buffer[std::is_same_v<Stored, T> ? 1 : kGroup];
  const int64_t bytes = count * static_cast<int64_t>(sizeof(Stored));
  int64_t hashed = 0;  // bytes
  for (int64_t begin = 0, size; begin < count; begin += size) {
    size = summary.next();
    // If a group ends within a stride, the whole stride is hashed.
    constexpr auto kStride = static_cast<int64_t>(Hash::kStride);
    const int64_t end = (begin + size) * static_cast<int64_t>(sizeof(Stored));
    const int64_t to = std::min((end + kStride - 1) / kStride * kStride, bytes);
    if (hash && to > hashed) {
      hash->add(reinterpret_cast<const char*>(stored) + hashed, static_cast<size_t>(to - hashed));
      hashed = to;
    }
    summary.add(widened(stored + begin, size, buffer), size);
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
    if (count > 0) {
      Summary<cpu::Computed<Stored>> summary(rows, cols, mean_rows, mean_cols, means);
      summarize(static_cast<const Stored*>(data), count, summary, &hash);
      summary.write(measured);
    }
    measured.hash = hash.of(static_cast<size_t>(count) * sizeof(Stored));
  });
  return measured;
}

void block_means(DType dtype, const void* data, int64_t rows, int64_t cols, int mean_rows, int mean_cols,
                 float* means) {
  if (rows * cols == 0) return;
  with_type(dtype, [&](auto kind) {
    using Stored = decltype(kind);
    Summary<cpu::Computed<Stored>> summary(rows, cols, mean_rows, mean_cols, means);
    summarize(static_cast<const Stored*>(data), rows * cols, summary, nullptr);
  });
}

}  // namespace shardlens
