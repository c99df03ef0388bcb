// The rows that a training step reads: S + 1 neighbouring tokens, of which all but the last are inputs and
// all but the first are targets. Row r of step k depends only on (seed, k * batch + r). So a resumed run
// reads the same rows as a run that was not interrupted. A replica takes its rows by their index, so the rows
// of a step do not depend on T or D.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/train/data/token_file.h"

namespace shardlens {

/// A random permutation of [0, count), by position: a Feistel network of four Philox rounds over the smallest
/// even number of bits that holds count, repeated until the result is below count. `round` selects one of
/// many permutations (an epoch). It needs no memory for any count.
uint64_t shuffled(uint64_t position, uint64_t count, uint64_t seed, uint64_t round);

/// Windows of seq + 1 tokens. Each window begins at the last token of the one before, so that every token
/// except the first is a target exactly once per epoch. The rest at the end of the file (fewer than seq
/// tokens) is not read.
class Windows {
 public:
  /// With a seed each epoch has its own order. Without a seed, windows come in the order of the text. Throws
  /// a request Error if the file has not even one window; the message names the longest sequence that would
  /// work.
  Windows(std::shared_ptr<const TokenFile> file, int64_t seq, std::optional<uint64_t> seed);

  int64_t count() const { return count_; }  ///< windows in an epoch
  int64_t seq() const { return seq_; }
  const TokenFile& file() const { return *file_; }

  /// The window that sample `index` >= 0 reads, in epoch index / count().
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
