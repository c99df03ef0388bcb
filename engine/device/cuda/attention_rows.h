// How many rows a warp of attention's 16-bit kernels takes: 16, or 32, which load what they need of the other
// side once for two products. Blocks of 32 rows a warp are half as many, and they fill a GPU only if there
// are enough rows. A formula decides, from the shape and the GPU. No bit depends on it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/device/cuda/places.h"

namespace shardlens::cuda {

/// A launch of attention: `pairs` of a sequence and a head, each with `rows` rows that see up to `keys` keys,
/// or, if it is causal, those up to their own place.
struct AttentionRows {
  static constexpr int kWarps = 4;  // of a block
  /// The registers of a multiprocessor hold this many blocks, whichever kernel it is.
  static constexpr int64_t kBlocksAtOnce = 2;
  /// A warp of 32 rows takes this long for a key, if one of 16 rows takes 1: an estimate from the machine
  /// code. With 16 rows it waits for shared memory, which is read 0.5 times for each product; with 32 rows
  /// 0.25 to 0.42 times, and then the matrix units are the limit.
  static constexpr double kOfTwoTiles = 1.5;

  int64_t pairs, rows, keys;
  bool causal;
  int64_t multiprocessors;

  /// Those of a block whose warps have 16 · `tiles` rows each.
  static int64_t rows_of_block(int64_t tiles) { return 16 * tiles * kWarps; }
  int64_t blocks(int64_t tiles) const { return pairs * pieces(rows, rows_of_block(tiles)); }

  /// What a block takes that begins at row `first`. If it is causal, each 64 rows of it end with the last key
  /// that they see, also those that do not exist.
  double of_block(int64_t tiles, int64_t first) const {
    const double of_rows = tiles == 2 ? kOfTwoTiles / 2 : 1;  // of 64
    if (!causal) return static_cast<double>(keys * tiles) * of_rows;
    int64_t seen = 0;
    for (int64_t row = first; row < first + rows_of_block(tiles); row += rows_of_block(1))
      seen += std::min({keys, rows, row + rows_of_block(1)});
    return static_cast<double>(seen) * of_rows;
  }

  /// The predicted time, in keys of a warp of 16 rows, if a multiprocessor has `at_once` blocks at a time.
  /// Blocks that are all equally long run in waves. Those of a causal launch fill gaps, because the longest
  /// ones come first.
  double predicted(int64_t tiles, int64_t at_once) const {
    const int64_t places = multiprocessors * at_once;
    if (!causal) return of_block(tiles, 0) * static_cast<double>(pieces(blocks(tiles), places));
    double longest = 0, sum = 0;
    for (int64_t row = 0; row < rows; row += rows_of_block(tiles)) {
      longest = std::max(longest, of_block(tiles, row));
      sum += of_block(tiles, row);
    }
    return std::max(longest, sum * static_cast<double>(pairs) / static_cast<double>(places));
  }

  /// True if warps of 32 rows are predicted to be faster. Their blocks take `shared_bytes` of the
  /// `shared_room` bytes that a multiprocessor has.
  bool takes_two_tiles(int64_t shared_bytes, int64_t shared_room) const {
    constexpr int64_t kReserved = 1024;  // by CUDA, for each block
    const int64_t at_once = std::min(kBlocksAtOnce, shared_room / (shared_bytes + kReserved));
    return at_once > 0 && blocks(1) > 0 && predicted(2, at_once) < predicted(1, kBlocksAtOnce);
  }
};

}  // namespace shardlens::cuda
