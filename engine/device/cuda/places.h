// The kernels' index arithmetic, in 64 bits, for host and GPU.
#pragma once

#include <cstdint>

#include "engine/device/cuda/portable.h"
#include "engine/device/device.h"

namespace shardlens::cuda {

SHARDLENS_BOTH int64_t pieces(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

/// Rows of `length` elements, cut into chunks of `size` and counted along the rows. In a kernel that passes
/// over rows, each block takes one chunk.
struct RowChunks {
  int64_t rows, length, size;

  SHARDLENS_BOTH int64_t per_row() const { return pieces(length, size); }
  SHARDLENS_BOTH int64_t count() const { return rows * per_row(); }
  SHARDLENS_BOTH int64_t row(int64_t chunk) const { return chunk / per_row(); }
  /// The chunk's first element in the row, and its end.
  SHARDLENS_BOTH int64_t begin(int64_t chunk) const { return chunk % per_row() * size; }
  SHARDLENS_BOTH int64_t end(int64_t chunk) const {
    const int64_t end = begin(chunk) + size;
    return end < length ? end : length;
  }
};

/// Maps the blocks of a launch to the tensors of a list. Each tensor has its own number of blocks, in the
/// order of the list. It is part of a kernel's arguments, which are at most 4 KiB.
template <int kMost>
struct ListedBlocks {
  int count = 0;                  // of tensors
  int64_t first[kMost + 1] = {};  // of each tensor's blocks, and the end

  bool is_full() const { return count == kMost; }
  int64_t blocks() const { return first[count]; }
  void add(int64_t blocks) {
    first[count + 1] = first[count] + blocks;
    ++count;
  }
  /// The tensor of a block: the last one that begins at it or before it.
  SHARDLENS_BOTH int tensor_of(int64_t block) const {
    int low = 0, high = count;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (first[middle] <= block ? low : high) = middle;
    }
    return low;
  }
};

/// The cut of a matrix's rows into chunks, for sums by columns: chunks of rows first, then the chunks' sums
/// in order. It depends only on the number of rows, so a column's bits do not depend on other columns.
struct RowSums {
  static constexpr int64_t kMostChunks = 64, kFewestRows = 64;
  int64_t rows;

  SHARDLENS_BOTH int64_t per_chunk() const {
    const int64_t even = pieces(rows, kMostChunks);
    return even < kFewestRows ? kFewestRows : even;
  }
  /// At least one: the sum over no rows is 0.
  SHARDLENS_BOTH int64_t chunks() const { return rows == 0 ? 1 : pieces(rows, per_chunk()); }
};

/// The number of a VocabShard's columns that are not padding.
SHARDLENS_BOTH int64_t present_columns(int64_t vocab, int64_t begin, int64_t size) {
  const int64_t present = vocab - begin;
  return present < 0 ? 0 : present > size ? size : present;
}

/// The rank's key head that a query head reads.
SHARDLENS_BOTH int64_t key_head_of(const KeyHeads& keys, int64_t query_head) {
  return (keys.first + query_head) / keys.group;
}

/// The query heads [begin, end) that read key head `key`, on a rank with `heads` query heads.
struct Readers {
  int64_t begin, end;
};
SHARDLENS_BOTH Readers readers_of(const KeyHeads& keys, int64_t heads, int64_t key) {
  const int64_t first = key * keys.group - keys.first, last = first + keys.group;
  const int64_t begin = first < 0 ? 0 : first > heads ? heads : first;
  const int64_t end = last < begin ? begin : last > heads ? heads : last;
  return {begin, end};
}

/// The (sequence, head) pair and the tile of a block of attention, of `pairs` · `tiles` blocks. With a causal
/// mask tiles have different lengths. Blocks start in the order of their numbers, and the longest tiles come
/// first, so that the last blocks are short. Only 64 pairs take turns at a time, so that their keys and
/// values stay in the GPU's cache (32 MB for 64 heads of 128 in 16 bits at 1,024 tokens).
struct TilePlace {
  static constexpr uint32_t kTogether = 64;
  int sequence, head, tile;

  SHARDLENS_BOTH TilePlace(uint32_t block, int64_t batch, int64_t heads, int64_t tiles,
                           bool last_is_longest) {
    // A launch has fewer than 2^31 blocks, and 32 bits are divided much faster.
    const auto pairs = static_cast<uint32_t>(batch * heads), per_pair = static_cast<uint32_t>(tiles);
    const uint32_t first = block / (kTogether * per_pair) * kTogether, in_turn = block - first * per_pair;
    const uint32_t together = pairs - first < kTogether ? pairs - first : kTogether;
    const uint32_t turn = in_turn / together, pair = first + in_turn % together;
    sequence = static_cast<int>(pair / static_cast<uint32_t>(heads));
    head = static_cast<int>(pair % static_cast<uint32_t>(heads));
    tile = static_cast<int>(last_is_longest ? per_pair - 1 - turn : turn);
  }
};

}  // namespace shardlens::cuda
