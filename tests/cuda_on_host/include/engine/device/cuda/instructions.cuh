// Replaces engine/device/cuda/instructions.cuh on the host: the matrix units' instructions by their
// definitions in the PTX manual.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace shardlens::cuda {

template <class... Parameters>
void start_kernel(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes,
                  cudaStream_t stream, Parameters... arguments) {
  on_host::check_launch(threads, shared_bytes);
  ++on_host::launches;
  on_host::blocks += static_cast<int>(blocks);
  if (const int refusal = std::exchange(on_host::next_launch, 0)) {
    on_host::last_error = refusal;
    return;
  }
  if (const int fault = std::exchange(on_host::next_kernel, 0))
    return on_host::ask(stream, [=] { on_host::break_gpu(stream->gpu, fault); });
  on_host::ask(stream,
               [=] { on_host::run_blocks(blocks, threads, shared_bytes, [&] { kernel(arguments...); }); });
}

/// Kernels run one after the other all the same.
template <class... Parameters>
void start_kernel_early(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes,
                        cudaStream_t stream, Parameters... arguments) {
  ++on_host::early_launches;
  start_kernel(kernel, blocks, threads, shared_bytes, stream, arguments...);
}
inline void let_next_kernel_begin() {}
inline void wait_for_kernel_before() {}

inline unsigned char* block_memory() {
  return on_host::shared_memory();
}

inline unsigned block_read_again() {
  return blockIdx.x;
}

inline float power_of_2(float x) {
  const float power = std::exp2(x);
  return power < 0x1p-126f ? 0.0f : power;
}

template <int kBytes>
void ask_for_copy(void* to, const void* from, bool exists) {
  if (reinterpret_cast<uintptr_t>(to) % kBytes != 0) std::abort();
  if (exists && reinterpret_cast<uintptr_t>(from) % kBytes != 0) std::abort();
  on_host::ask_for_copy(to, exists ? from : nullptr, kBytes);
}
inline void wait_for_copies() {
  on_host::wait_for_copies();
}

/// Lane 8m + r points at row r of matrix m. A lane receives of each the numbers 2 (lane % 4) and the next of
/// row lane / 4; transposed, of that column.
template <class S>
void load_matrices(const S* row, uint32_t (&out)[4], bool transposed) {
  static const S* rows[32][32];
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) std::abort();
  const unsigned lane = on_host::lane(), warp = on_host::warp();
  rows[warp][lane] = row;
  on_host::wait_for_warp();
  for (unsigned m = 0; m < 4; ++m) {
    out[m] = 0;
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned place = lane % 4 * 2 + i, line = lane / 4;
      const S number = transposed ? rows[warp][8 * m + place][line] : rows[warp][8 * m + line][place];
      out[m] |= uint32_t{number.bits} << (16 * i);
    }
  }
  on_host::wait_for_warp();
}

template <class S>
void load_matrices(const S* row, uint32_t (&out)[4]) {
  load_matrices(row, out, false);
}
template <class S>
void load_transposed(const S* row, uint32_t (&out)[4]) {
  load_matrices(row, out, true);
}

/// sum [16, 8] += left [16, 16] · right [16, 8]
template <class S>
void multiply_add(float (&sum)[4], const uint32_t (&left)[4], uint32_t right_low, uint32_t right_high) {
  static uint32_t registers[32][32][6];
  const unsigned lane = on_host::lane(), warp = on_host::warp();
  for (unsigned i = 0; i < 4; ++i) registers[warp][lane][i] = left[i];
  registers[warp][lane][4] = right_low;
  registers[warp][lane][5] = right_high;
  on_host::wait_for_warp();
  const auto number = [&](unsigned from, unsigned which, unsigned half) {
    return static_cast<float>(S{static_cast<uint16_t>(registers[warp][from][which] >> (16 * half))});
  };
  for (unsigned e = 0; e < 4; ++e) {
    const unsigned row = lane / 4 + e / 2 * 8, col = lane % 4 * 2 + e % 2;
    for (unsigned k = 0; k < 16; ++k)
      sum[e] += number(row % 8 * 4 + k % 8 / 2, row / 8 + k / 8 * 2, k % 2) *
                number(col * 4 + k % 8 / 2, 4 + k / 8, k % 2);
  }
  on_host::wait_for_warp();
}

}  // namespace shardlens::cuda
