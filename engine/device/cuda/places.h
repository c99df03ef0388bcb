// Where things lie: index arithmetic of the kernels, in 64 bits, for both sides.
#pragma once

#include <cstdint>

#include "engine/device/cuda/portable.h"
#include "engine/device/device.h"

namespace shardlens::cuda {

SHARDLENS_BOTH int64_t pieces(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

/// Rows of `length` elements cut into chunks of `size`, counted along the rows: what the blocks of a kernel
/// that passes over rows take, one each.
struct RowChunks {
  int64_t rows, length, size;

  SHARDLENS_BOTH int64_t per_row() const { return pieces(length, size); }
  SHARDLENS_BOTH int64_t count() const { return rows * per_row(); }
  SHARDLENS_BOTH int64_t row(int64_t chunk) const { return chunk / per_row(); }
  /// Its first element in the row, and the end.
  SHARDLENS_BOTH int64_t begin(int64_t chunk) const { return chunk % per_row() * size; }
  SHARDLENS_BOTH int64_t end(int64_t chunk) const {
    const int64_t end = begin(chunk) + size;
    return end < length ? end : length;
  }
};

/// Which blocks of a launch over a list of tensors are whose: each has as many as it asks for, in the order
/// of the list. For kernel arguments, which hold 4 KiB.
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
  /// The tensor whose block it is: the last that begins no later.
  SHARDLENS_BOTH int tensor_of(int64_t block) const {
    int low = 0, high = count;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (first[middle] <= block ? low : high) = middle;
    }
    return low;
  }
};

/// How the rows of a matrix are summed by columns: chunks of rows first, then the chunks' sums in order. The
/// cut depends on the rows alone, so that a column's bits depend on no other column.
struct RowSums {
  static constexpr int64_t kMostChunks = 64, kFewestRows = 64;
  int64_t rows;

  SHARDLENS_BOTH int64_t per_chunk() const {
    const int64_t even = pieces(rows, kMostChunks);
    return even < kFewestRows ? kFewestRows : even;
  }
  SHARDLENS_BOTH int64_t chunks() const { return pieces(rows, per_chunk()); }
};

/// The columns of a VocabShard that are not padding.
SHARDLENS_BOTH int64_t present_columns(int64_t vocab, int64_t begin, int64_t size) {
  const int64_t present = vocab - begin;
  return present < 0 ? 0 : present > size ? size : present;
}

/// The key head, counted over all sequences, that a (sequence, query head) pair reads (cpu/attention.cpp).
SHARDLENS_BOTH int64_t key_head_of(const KeyHeads& keys, int64_t query_head) {
  return (keys.first + query_head) / keys.group;
}

/// The query heads [begin, end) that read key head `key`, of a rank that has `heads` of them.
struct Readers {
  int64_t begin, end;
};
SHARDLENS_BOTH Readers readers_of(const KeyHeads& keys, int64_t heads, int64_t key) {
  const int64_t first = key * keys.group - keys.first, last = first + keys.group;
  const int64_t begin = first < 0 ? 0 : first > heads ? heads : first;
  const int64_t end = last < begin ? begin : last > heads ? heads : last;
  return {begin, end};
}

/// The (sequence, head) pair and the tile that a block of attention takes, of `pairs` · `tiles`. Under a
/// causal mask tiles differ in length: blocks start in the order of their numbers, and the longest tiles come
/// first, so that the last blocks to run are short ones. Pairs take turns 64 at a time, whose keys and values
/// stay in the GPU's cache (32 MB for 64 heads of 128 in 16 bits at 1,024 tokens).
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
