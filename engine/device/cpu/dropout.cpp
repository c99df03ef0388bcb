// Dropout. The mask is not stored: element i of the full tensor asks the counter-based generator for its i-th
// draw, so forward and backward pass, every rank and every T see the same mask.
#include <algorithm>

#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/dropout_mask.h"
#include "engine/device/cpu/parallel.h"

namespace shardlens::cpu {

namespace {

constexpr int64_t kChunk = 4096;  // elements a thread takes at a time

}  // namespace

void CpuDevice::dropout(DType dtype, const DropoutMask& mask, int64_t first, int64_t count, const void* x,
                        void* y) {
  with_element_type(dtype, "dropout", [&](auto zero) {
    using T = decltype(zero);
    const T* in = static_cast<const T*>(x);
    T* out = static_cast<T*>(y);
    parallel_for(threads_, (count + kChunk - 1) / kChunk, [&](int64_t piece) {
      const int64_t begin = piece * kChunk;
      const int64_t size = std::min(kChunk, count - begin);
      if (out != in) std::copy_n(in + begin, size, out + begin);
      drop(mask, first + begin, size, out + begin);
    });
  });
}

}  // namespace shardlens::cpu
