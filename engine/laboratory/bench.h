// What the experiments of the laboratory work with: seeded matrices, the parts of them that ranks hold, and
// the CPU device's operations as functions from matrices to matrices.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/shape.h"
#include "engine/device/device.h"
#include "engine/program/layout.h"

namespace shardlens::lab {

/// A matrix in host memory, row-major, fp32.
struct Numbers {
  int64_t rows = 0, cols = 0;
  std::vector<float> values;

  Numbers() = default;
  Numbers(int64_t rows_, int64_t cols_)
      : rows(rows_), cols(cols_), values(static_cast<size_t>(rows_ * cols_)) {}
  float at(int64_t row, int64_t col) const { return values[static_cast<size_t>(row * cols + col)]; }
  float* data() { return values.data(); }
  const float* data() const { return values.data(); }
  int64_t count() const { return rows * cols; }
};

Numbers rows_of(const Numbers& numbers, Range range);
Numbers cols_of(const Numbers& numbers, Range range);

/// How the ranks' results become one.
enum class Joined {
  Summed,   ///< added in the order of the ranks
  Largest,  ///< element by element
  Rows,     ///< one below the other
  Columns,  ///< side by side
  Alike,    ///< every rank should have the whole result
};

/// "summed", "the largest of each", "one below the other", "side by side", "the same on every rank"
std::string to_string(Joined joined);

/// The laboratory's X has this many rows and columns: small enough to read every number, and large enough for
/// kMostRanks heads.
inline constexpr int64_t kTokens = 8, kHidden = 16, kHeads = 8, kHeadDim = kHidden / kHeads;

/// `ranks` ranks with one CPU device, and an operand X: the sum of one seeded term for each rank.
class Bench {
 public:
  explicit Bench(int ranks);

  int ranks() const { return ranks_; }
  Device& device() const { return *device_; }
  const Numbers& x() const { return x_; }
  /// The part of X that `rank` holds under a layout: its term of the sum, its rows, its columns, or all of
  /// X.
  Numbers held(Layout layout, int rank) const;
  Range token_range(int rank) const { return shard_range(kTokens, ranks_, rank); }
  /// Columns are cut between heads, so that a rank has whole heads.
  Range column_range(int rank) const {
    const Range heads = shard_range(kHeads, ranks_, rank);
    return {heads.begin * kHeadDim, heads.end * kHeadDim};
  }
  /// Another operand. Equal names give equal numbers, on any number of ranks.
  Numbers drawn(std::string_view name, int64_t rows, int64_t cols) const;

  Numbers sum(const Numbers& a, const Numbers& b) const;
  /// `numbers` times `factor`. The engine folds such a factor into the stored values.
  static Numbers scaled(Numbers numbers, float factor);
  Numbers joined(const std::vector<Numbers>& results, Joined how) const;

 private:
  int ranks_;
  std::unique_ptr<Device> device_;
  std::vector<Numbers> shares_;
  Numbers x_;
};

}  // namespace shardlens::lab
