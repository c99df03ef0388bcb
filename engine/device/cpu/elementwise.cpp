// Plain passes over memory: bias, bias gradient, residual sum, rounding, tanh, slicing.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/device/cpu/column_sums.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/residual_row.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

constexpr int64_t kChunk = 16384;  // elements a thread takes at a time

int64_t pieces(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

}  // namespace

void CpuDevice::bias_add(const BiasAdd& op) {
  with_element_type(op.dtype, "a bias", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const int64_t rows = op.rows, cols = op.cols;
    const int64_t group = std::max<int64_t>(1, kChunk / std::max<int64_t>(1, cols));
    parallel_for(threads_, pieces(rows, group), [&](int64_t piece) {
      const S* b = static_cast<const S*>(op.bias);
      for (int64_t row = piece * group; row < std::min(rows, (piece + 1) * group); ++row) {
        const S* in = static_cast<const S*>(op.x) + row * cols;
        S* out = static_cast<S*>(op.y) + row * cols;
        if (op.addend == nullptr) {
          for_vectors<T>(cols, [&](int64_t i, auto n) {
            store_part(out + i, load_part(in + i, n, T(0)) + load_part(b + i, n, T(0)), n);
          });
          continue;
        }
        add_to_residual(cols, static_cast<const S*>(op.addend) + row * cols, in, b, out);
      }
    });
  });
}

void CpuDevice::bias_grad(DType dtype, int64_t rows, int64_t cols, const void* dy, void* db,
                          bool accumulate) {
  with_element_type(dtype, "a bias gradient", [&](auto zero) {
    using S = decltype(zero);
    sum_columns(threads_, rows, cols, static_cast<const S*>(dy), static_cast<Computed<S>*>(db), accumulate,
                [](int64_t, int64_t) {});
  });
}

void CpuDevice::add(DType dtype, int64_t count, const void* a, const void* b, void* y) {
  with_element_type(dtype, "a sum", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    parallel_for(threads_, pieces(count, kChunk), [&](int64_t piece) {
      const int64_t begin = piece * kChunk;
      const S* left = static_cast<const S*>(a) + begin;
      const S* right = static_cast<const S*>(b) + begin;
      S* out = static_cast<S*>(y) + begin;
      for_vectors<T>(std::min(kChunk, count - begin), [&](int64_t i, auto n) {
        store_part(out + i, load_part(left + i, n, T(0)) + load_part(right + i, n, T(0)), n);
      });
    });
  });
}

void CpuDevice::round(DType dtype, int64_t count, int limit, const void* x, void* y) {
  with_wide_type(dtype, "rounding", [&](auto zero) {
    using T = decltype(zero);
    parallel_for(threads_, pieces(count, kChunk), [&](int64_t piece) {
      const T high = static_cast<T>(limit);
      const T* in = static_cast<const T*>(x);
      T* out = static_cast<T*>(y);
      for (int64_t i = piece * kChunk; i < std::min(count, (piece + 1) * kChunk); ++i) {
        const T nearest = std::rint(in[i]);                // ties to even: the default rounding mode
        const T capped = nearest > high ? high : nearest;  // a NaN compares false and stays
        out[i] = capped < -high ? -high : capped;
      }
    });
  });
}

// The library's tanh, within an ulp. Only BERT's pooler uses it, on one row for each sequence, so its time
// does not matter.
void CpuDevice::tanh(DType dtype, int64_t count, const void* x, void* y) {
  with_element_type(dtype, "tanh", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    for (int64_t i = 0; i < count; ++i) static_cast<S*>(y)[i] = S(std::tanh(T(static_cast<const S*>(x)[i])));
  });
}

void CpuDevice::tanh_grad(const TanhGrad& op) {
  with_element_type(op.dtype, "the gradient of tanh", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    for (int64_t i = 0; i < op.count; ++i) {
      const T value = T(static_cast<const S*>(op.y)[i]);
      static_cast<S*>(op.dx)[i] = S(T(static_cast<const S*>(op.dy)[i]) * (T(1) - value * value));
    }
  });
}

void CpuDevice::slice(DType dtype, const Slicing& slicing, Range range, const void* full, void* shard) {
  const size_t element = static_cast<size_t>(element_bytes(dtype));
  const size_t run = static_cast<size_t>(range.size() * slicing.inner) * element;
  if (run == 0) return;
  const size_t stride = static_cast<size_t>(slicing.extent * slicing.inner) * element;
  const char* from =
      static_cast<const char*>(full) + static_cast<size_t>(range.begin * slicing.inner) * element;
  char* to = static_cast<char*>(shard);
  const int64_t group = std::max<int64_t>(1, static_cast<int64_t>((size_t{64} << 10) / run));
  parallel_for(threads_, pieces(slicing.outer, group), [&](int64_t piece) {
    for (int64_t o = piece * group; o < std::min(slicing.outer, (piece + 1) * group); ++o)
      std::memcpy(to + static_cast<size_t>(o) * run, from + static_cast<size_t>(o) * stride, run);
  });
}

}  // namespace shardlens::cpu
