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

}  // namespace shardlens::cuda
