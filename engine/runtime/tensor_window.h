// Some rows and columns of a tensor, and their values on every rank and in the run on one rank: what a closer
// look at a tensor reads, however large the tensor is.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/program/program.h"
#include "engine/record/sample.h"

namespace shardlens {

struct Plan;

/// A rectangle of a tensor seen as a matrix, in the full tensor's rows and columns.
struct TensorWindow {
  TensorId tensor = kNoTensor;
  Range rows, cols;
  int64_t elements() const { return rows.size() * cols.size(); }
  bool operator==(const TensorWindow&) const = default;
};

inline constexpr int64_t kWindowElements = int64_t{1} << 18;  ///< a larger window is not read

struct WindowValues {
  TensorWindow window;
  /// [rank], row-major; 0 where the rank holds nothing of the tensor, see placements().
  std::vector<std::vector<double>> ranks;
  std::vector<double> serial;  ///< row-major, of the run on one rank; empty: not known

  bool contains(int64_t row, int64_t col) const {
    return row >= window.rows.begin && row < window.rows.end && col >= window.cols.begin &&
           col < window.cols.end;
  }
  /// The place of an element of the full tensor in the lists above. The window must contain it.
  size_t at(int64_t row, int64_t col) const {
    return static_cast<size_t>((row - window.rows.begin) * window.cols.size() + col - window.cols.begin);
  }
};

/// The windows that were asked for last.
struct WindowAnswer {
  std::shared_ptr<const Plan> plan;
  std::vector<std::shared_ptr<const WindowValues>> values;  ///< in the order of the question
};

/// True if the window lies in its tensor, has elements, and not too many.
bool is_readable(const Program& program, const TensorWindow& window);

/// True if rank `rank` holds this element of the full tensor.
bool holds(const Tensor& tensor, int ranks, int rank, int64_t row, int64_t col);

/// The values in a window as far as the run's samples kept each element; null if they did not on some rank.
std::shared_ptr<const WindowValues> kept_values(const Program& program, const SampleTable& samples,
                                                const TensorWindow& window);

}  // namespace shardlens
