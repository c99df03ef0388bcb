// Copies the keys and values of new tokens into the cache, where later tokens read them.
#include <cstring>

#include "engine/device/cpu/cpu_device.h"

namespace shardlens {

namespace cpu {

void CpuDevice::cache_append(const CacheAppend& op) {
  const CacheShape& shape = op.shape;
  const int64_t heads = shape.grouped ? shape.keys.heads : shape.heads;
  const auto row = static_cast<size_t>(heads * shape.head_dim * element_bytes(shape.dtype));
  const size_t parts = shape.grouped ? 2 : 3;  // K and V are the last two
  if (row == 0) return;
  for (int64_t sequence = 0; sequence < shape.batch; ++sequence) {
    const auto first = static_cast<size_t>(sequence * shape.room + shape.first_position(sequence));
    for (int64_t i = 0; i < shape.seq; ++i) {
      const auto* from =
          static_cast<const std::byte*>(op.qkv) + static_cast<size_t>(sequence * shape.seq + i) * parts * row;
      const size_t to = (first + static_cast<size_t>(i)) * row;
      std::memcpy(static_cast<std::byte*>(op.keys) + to, from + (parts - 2) * row, row);
      std::memcpy(static_cast<std::byte*>(op.values) + to, from + (parts - 1) * row, row);
    }
  }
}

}  // namespace cpu

}  // namespace shardlens
