// Dropout. The mask is not stored: element i of the full tensor takes the i-th draw of the counter-based
// generator. So the forward and backward pass, every rank and every T see the same mask.
#include <algorithm>

#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/dropout_mask.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

constexpr int64_t kChunk = 4096;  // elements a thread takes at a time

}  // namespace

void CpuDevice::dropout(DType dtype, const DropoutMask& mask, const RowRuns& place, const void* x, void* y) {
  with_element_type(dtype, "dropout", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const S* in = static_cast<const S*>(x);
    S* out = static_cast<S*>(y);
    const int64_t chunks = (place.run + kChunk - 1) / kChunk;  // of a row
    parallel_for(threads_, place.rows * chunks, [&](int64_t piece) {
      const int64_t row = piece / chunks, column = piece % chunks * kChunk;
      const int64_t size = std::min(kChunk, place.run - column);
      const int64_t begin = row * place.run + column;
      T values[kChunk];
      convert_row(in + begin, size, values);
      drop(mask, place.first + row * place.stride + column, size, values);
      convert_row(values, size, out + begin);
    });
  });
}

}  // namespace shardlens::cpu
