// The loops that a rank of the local communicator runs on the other ranks' memory between the two barriers:
// sum it in rank order, or copy rows out of it. They are compiled for the machine's instruction set, like the
// CPU device's kernels, because they must keep up with memory.
#pragma once

#include <cstdint>
#include <span>

#include "engine/config/dtype.h"

namespace shardlens {

/// to[t][to_offset + i] = ((from[0][j] + from[1][j]) + from[2][j]) + ... with j = from_offset + i, for every
/// t and every i < count. One pass: an element is read once from every source and written once to every
/// target, all its reads before its writes, so the targets may be the sources. 16-bit elements are
/// summed in fp32 and rounded once. Offsets and count in elements.
void sum_in_order(DType dtype, std::span<const void* const> from, int64_t from_offset,
                  std::span<void* const> to, int64_t to_offset, int64_t count);

/// The same with the larger of two elements instead of their sum.
void max_in_order(DType dtype, std::span<const void* const> from, int64_t from_offset,
                  std::span<void* const> to, int64_t to_offset, int64_t count);

/// Copies `rows` rows of `row_bytes` each; strides in bytes. Touches no memory if there is nothing to copy.
void copy_rows(int64_t rows, int64_t row_bytes, const void* from, int64_t from_stride, void* to,
               int64_t to_stride);

/// Returns the address `bytes` bytes after `base`.
inline const char* at(const void* base, int64_t bytes) {
  return static_cast<const char*>(base) + bytes;
}
inline char* at(void* base, int64_t bytes) {
  return static_cast<char*>(base) + bytes;
}

}  // namespace shardlens
