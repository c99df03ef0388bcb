// Copies rows of bytes. Source and destination have their own row strides.
#pragma once

#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

/// Copies row r of `bytes` from `from` + r·from_stride to `to` + r·to_stride. `what` names the operation in
/// errors.
inline void copy_rows(const char* what, cudaStream_t stream, int64_t rows, int64_t bytes, const void* from,
                      int64_t from_stride, void* to, int64_t to_stride) {
  if (rows == 0 || bytes == 0) return;
  constexpr int64_t kLargestPitch = INT32_MAX;  // cudaDeviceProp::memPitch of every device
  if (rows == 1 || (from_stride == bytes && to_stride == bytes)) {
    check(what, "cudaMemcpyAsync",
          cudaMemcpyAsync(to, from, static_cast<size_t>(rows * bytes), cudaMemcpyDeviceToDevice, stream));
  } else if (from_stride <= kLargestPitch && to_stride <= kLargestPitch) {
    check(what, "cudaMemcpy2DAsync",
          cudaMemcpy2DAsync(to, static_cast<size_t>(to_stride), from, static_cast<size_t>(from_stride),
                            static_cast<size_t>(bytes), static_cast<size_t>(rows), cudaMemcpyDeviceToDevice,
                            stream));
  } else {
    for (int64_t row = 0; row < rows; ++row)
      copy_rows(what, stream, 1, bytes, static_cast<const char*>(from) + row * from_stride, bytes,
                static_cast<char*>(to) + row * to_stride, bytes);
  }
}

inline void copy_rows(const Operation& operation, int64_t rows, int64_t bytes, const void* from,
                      int64_t from_stride, void* to, int64_t to_stride) {
  copy_rows(operation.name(), operation.stream(), rows, bytes, from, from_stride, to, to_stride);
}

}  // namespace shardlens::cuda
