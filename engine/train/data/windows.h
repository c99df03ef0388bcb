// What a training step reads: rows of S + 1 neighbouring tokens, inputs all but the last, targets all but the
// first. Row r of step k is a pure function of (seed, k * batch + r): a resumed run goes on with the very
// rows an uninterrupted one would have read, and a data-parallel group takes its rows by their index, so the
// rows of a step do not depend on T or D.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/train/data/token_file.h"

namespace shardlens {

/// A bijection of [0, count) onto itself, by position: a Feistel network of four Philox rounds over the
/// smallest even number of bits that holds count, walked until it lands inside. `round` picks one of many (an
/// epoch). It needs no memory, however large count is.
uint64_t shuffled(uint64_t position, uint64_t count, uint64_t seed, uint64_t round);

/// Windows of seq + 1 tokens, each beginning where the one before has its last token, so that every token but
/// the first is a target exactly once an epoch. What is left at the end of the file (fewer than seq tokens)
/// is not read.
class Windows {
 public:
  /// With a seed each epoch has its own order; without, windows come in the order of the text. Throws a
  /// request Error if the file has not one window, saying which sequence would do.
  Windows(std::shared_ptr<const TokenFile> file, int64_t seq, std::optional<uint64_t> seed);

  int64_t count() const { return count_; }  ///< windows in an epoch
  int64_t seq() const { return seq_; }
  const TokenFile& file() const { return *file_; }

  /// The window that sample `index` >= 0 reads; epoch index / count().
  int64_t window_of(int64_t index) const;

  /// Rows [first_row, first_row + rows) of the global batch of a step, [rows, seq + 1] in C order.
  std::vector<int32_t> rows(int64_t step, int64_t batch, int64_t first_row, int64_t rows) const;
  /// The whole batch, [batch, seq + 1].
  std::vector<int32_t> batch(int64_t step, int64_t batch) const { return rows(step, batch, 0, batch); }

 private:
  std::shared_ptr<const TokenFile> file_;
  int64_t seq_;
  int64_t count_;
  std::optional<uint64_t> seed_;
};

}  // namespace shardlens
