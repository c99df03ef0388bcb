// Measuring memory at the speed it is read. A matrix is taken in groups of a few whole rows, or of a part of
// a long one, that stay in the nearest cache. There each is looked at twice: for its hash, and for its
// statistics and the sums of its columns, of which block means are made when the last of their rows is
// through.
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

// Both looks at a group ask for the memory of the next one, so that it is on its way all the time. (Asked for
// by the first look alone, pictures of a GPT-2 124M step took a fifth longer.)
constexpr size_t kAhead = kGroup * sizeof(float);  // bytes

void fetch(const char* at) {
  __builtin_prefetch(at, 0, 2);
}

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
    for (; bytes >= kStride; bytes -= kStride, at += kStride) {
      for (size_t line = 0; line < kStride; line += 64)
        fetch(reinterpret_cast<const char*>(at) + kAhead + line);
      mix(lanes, at);
    }
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

// Numbers are summed a few at a time in `Few` and from there in double: floats as floats, which is as fast as
// they come out of the cache, for at most kFew of them; anything else as doubles.
template <class T>
using Few = std::conditional_t<std::is_same_v<T, float>, float, double>;
constexpr int64_t kFew = 64;

// As many numbers as `Few` has lanes.
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

// Halves first, the rest in double.
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

// Statistics and block means of a matrix that is taken group by group.
template <class T>
class Summary {
 public:
  Summary(int64_t rows, int64_t cols, int mean_rows, int mean_cols, float* means)
      : rows_(rows), cols_(cols), mean_rows_(mean_rows), mean_cols_(mean_cols), means_(means) {
    static thread_local std::vector<Few<T>> columns;
    static thread_local std::vector<double> cells;
    static thread_local std::vector<int64_t> begins;
    columns.resize(static_cast<size_t>(cols));
    cells.assign(static_cast<size_t>(mean_cols), 0);
    begins.clear();
    for (int64_t cell = 0; cell <= mean_cols; ++cell) begins.push_back(begin_of(cell, mean_cols, cols));
    columns_ = columns.data();
    cells_ = cells.data();
    cell_begins_ = begins.data();
  }

  /// How many numbers the next group has: those of whole rows of one mean, or of a part of a row.
  int64_t next() const {
    if (cols_ > kGroup) return std::min(cols_ - col_, kGroup);
    return cols_ * std::min({kGroupRows, kGroup / cols_, end_of_mean_row() - row_, kFew - summed_rows_});
  }

  /// The next group.
  void add(const T* values, int64_t count) {
    const int64_t width = std::min(count, cols_), rows = count / width;
    // Four vectors side by side, so that none waits for the one before.
    Sums sums[kSideBySide];
    std::fill_n(sums, kSideBySide, Sums{lows_, highs_, {}, {}});
    int64_t col = 0;
    for (; col + kSideBySide * kLanes <= width; col += kSideBySide * kLanes)
      add_strip<kSideBySide>(values + col, rows, width, columns_ + col_ + col, sums);
    for (; col + kLanes <= width; col += kLanes)
      add_strip<1>(values + col, rows, width, columns_ + col_ + col, sums);
    add_tail(values, rows, width, col);
    add_statistics(sums, values, rows, width, col);
    col_ += width;
    if (col_ == cols_) end_of_rows(rows);
  }

  /// Of all groups.
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

  // `vectors` vectors of columns of a few rows, `stride` numbers apart.
  template <int64_t vectors>
  void add_strip(const T* values, int64_t rows, int64_t stride, Few<T>* columns, Sums* sums) const {
    Vector strip[vectors] = {};
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v) {
        const T* const from = values + row * stride + v * kLanes;
        fetch(reinterpret_cast<const char*>(from) + kAhead);
        const Vector numbers = few(from);
        strip[v] += numbers;
        sums[v].lows = least(sums[v].lows, numbers);
        sums[v].highs = most(sums[v].highs, numbers);
        sums[v].squares += numbers * numbers;
      }
    for (int64_t v = 0; v < vectors; ++v) {
      sums[v].sums += strip[v];
      Few<T>* const at = columns + v * kLanes;
      cpu::store<Few<T>>(at, summed_rows_ == 0 ? strip[v] : cpu::load<Few<T>>(at) + strip[v]);
    }
  }

  // The columns from `begin` on, which fill no vector.
  void add_tail(const T* values, int64_t rows, int64_t width, int64_t begin) {
    for (int64_t col = begin; col < width; ++col) {
      Few<T>& column = columns_[col_ + col];
      if (summed_rows_ == 0) column = 0;
      for (int64_t row = 0; row < rows; ++row) column += static_cast<Few<T>>(values[row * width + col]);
    }
  }

  // `sums` are of the columns before `end`.
  void add_statistics(const Sums* sums, const T* values, int64_t rows, int64_t width, int64_t end) {
    Sums all = sums[0];
    for (int64_t v = 1; v < kSideBySide; ++v)
      all = {least(all.lows, sums[v].lows), most(all.highs, sums[v].highs), all.sums + sums[v].sums,
             all.squares + sums[v].squares};
    const double squares = sum_wide(all.squares);
    // A sum of squares is finite where all its terms are, and loses none while it is far from the smallest
    // numbers there are.
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

  void end_of_rows(int64_t rows) {
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
    double sums[4] = {};
    int64_t col = begin;
    for (; col + 4 <= end; col += 4)
      for (int64_t i = 0; i < 4; ++i) sums[i] += static_cast<double>(columns_[col + i]);
    for (; col < end; ++col) sums[0] += static_cast<double>(columns_[col]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  void write_means() {
    const int64_t height = row_ - begin_of(mean_row_, mean_rows_, rows_);
    for (int64_t cell = 0; cell < mean_cols_; ++cell) {
      const int64_t width = cell_begins_[cell + 1] - cell_begins_[cell];
      *means_++ = static_cast<float>(cells_[cell] / static_cast<double>(height * width));
      cells_[cell] = 0;
    }
    ++mean_row_;
  }

  const int64_t rows_, cols_, mean_rows_, mean_cols_;
  float* means_;
  Few<T>* columns_;             // [cols], of the rows since they were last added to the cells
  double* cells_;               // [mean_cols]
  const int64_t* cell_begins_;  // [mean_cols + 1], columns
  int64_t row_ = 0, col_ = 0, mean_row_ = 0, summed_rows_ = 0;

  Vector lows_ = Vector{} + std::numeric_limits<Few<T>>::max();
  Vector highs_ = Vector{} + std::numeric_limits<Few<T>>::lowest();
  T low_ = std::numeric_limits<T>::max(), high_ = std::numeric_limits<T>::lowest();
  double sum_ = 0, squares_ = 0;
  int64_t not_finite_ = 0;
};

// A group as the type it is computed in; 16-bit numbers are widened into `buffer`.
template <class Stored>
const cpu::Computed<Stored>* widened(const Stored* group, int64_t count, cpu::Computed<Stored>* buffer) {
  if constexpr (std::is_same_v<Stored, cpu::Computed<Stored>>) {
    return group;
  } else {
    cpu::convert_row(group, count, buffer);
    return buffer;
  }
}

// Takes `count` numbers; `before` is called with each group as it is stored.
template <class Stored, class Before>
void summarize(const Stored* stored, int64_t count, Summary<cpu::Computed<Stored>>& summary,
               const Before& before) {
  using T = cpu::Computed<Stored>;
  alignas(64) T buffer[std::is_same_v<Stored, T> ? 1 : kGroup];
  for (int64_t begin = 0, size; begin < count; begin += size) {
    size = summary.next();
    before(begin + size);
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
    const auto bytes = static_cast<size_t>(count) * sizeof(Stored);
    if (count > 0) {
      Summary<cpu::Computed<Stored>> summary(rows, cols, mean_rows, mean_cols, means);
      size_t hashed = 0;  // bytes
      summarize(static_cast<const Stored*>(data), count, summary, [&](int64_t end) {
        // A group may end within a stride, which is hashed whole then.
        const size_t strides =
            (static_cast<size_t>(end) * sizeof(Stored) + Hash::kStride - 1) / Hash::kStride;
        const size_t to = std::min(strides * Hash::kStride, bytes);
        if (to > hashed) hash.add(static_cast<const char*>(data) + hashed, to - hashed);
        hashed = std::max(hashed, to);
      });
      summary.write(measured);
    }
    measured.hash = hash.of(bytes);
  });
  return measured;
}

void block_means(DType dtype, const void* data, int64_t rows, int64_t cols, int mean_rows, int mean_cols,
                 float* means) {
  if (rows * cols == 0) return;
  with_type(dtype, [&](auto kind) {
    using Stored = decltype(kind);
    Summary<cpu::Computed<Stored>> summary(rows, cols, mean_rows, mean_cols, means);
    summarize(static_cast<const Stored*>(data), rows * cols, summary, [](int64_t) {});
  });
}

}  // namespace shardlens
