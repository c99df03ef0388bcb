// Embedding: table rows by id, and their gradient. A row of another rank reads as zeros, so the sum over the
// ranks is the row. The gradient adds rows in the order of the tokens, for any number of threads.
#include <algorithm>
#include <cstring>

#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

constexpr int64_t kRowGroup = 32;      // tokens a thread takes at a time
constexpr int64_t kColumnStrip = 128;  // columns of a table's gradient that a thread sums at a time

}  // namespace

void CpuDevice::embedding(const Embedding& op) {
  const size_t row_bytes = static_cast<size_t>(op.width * element_bytes(op.dtype));
  parallel_for(threads_, (op.tokens + kRowGroup - 1) / kRowGroup, [&](int64_t group) {
    for (int64_t t = group * kRowGroup; t < std::min(op.tokens, (group + 1) * kRowGroup); ++t) {
      char* out = static_cast<char*>(op.y) + static_cast<size_t>(t) * row_bytes;
      const int64_t row = op.ids[t] - op.rows.begin;
      if (row < 0 || row >= op.rows.size()) {
        std::memset(out, 0, row_bytes);
      } else {
        std::memcpy(out, static_cast<const char*>(op.table) + static_cast<size_t>(row) * row_bytes,
                    row_bytes);
      }
    }
  });
}

void CpuDevice::embedding_grad(const EmbeddingGrad& op) {
  with_element_type(op.dtype, "the gradient of an embedding", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const S* dy = static_cast<const S*>(op.dy);
    T* dtable = static_cast<T*>(op.dtable);
    const int64_t rows = op.rows.size(), width = op.width;
    parallel_for(threads_, (width + kColumnStrip - 1) / kColumnStrip, [&](int64_t strip) {
      const int64_t first = strip * kColumnStrip;
      const int64_t count = std::min(kColumnStrip, width - first);
      for (int64_t row = 0; !op.accumulate && row < rows; ++row)
        std::fill_n(dtable + row * width + first, count, T(0));
      for (int64_t t = 0; t < op.tokens; ++t) {
        const int64_t row = op.ids[t] - op.rows.begin;
        if (row < 0 || row >= rows || op.ids[t] == op.no_gradient_id) continue;
        T* to = dtable + row * width + first;
        const S* from = dy + t * width + first;
        for (int64_t i = 0; i < count; ++i) to[i] += T(from[i]);
      }
    });
  });
}

void CpuDevice::first_token(DType dtype, int64_t batch, int64_t seq, int64_t width, const void* x, void* y) {
  const size_t row = static_cast<size_t>(width * element_bytes(dtype));
  for (int64_t b = 0; b < batch; ++b)
    std::memcpy(static_cast<char*>(y) + static_cast<size_t>(b) * row,
                static_cast<const char*>(x) + static_cast<size_t>(b * seq) * row, row);
}

void CpuDevice::first_token_grad(DType dtype, int64_t batch, int64_t seq, int64_t width, const void* dy,
                                 void* dx) {
  const size_t row = static_cast<size_t>(width * element_bytes(dtype));
  std::memset(dx, 0, static_cast<size_t>(batch * seq) * row);
  for (int64_t b = 0; b < batch; ++b)
    std::memcpy(static_cast<char*>(dx) + static_cast<size_t>(b * seq) * row,
                static_cast<const char*>(dy) + static_cast<size_t>(b) * row, row);
}

}  // namespace shardlens::cpu
