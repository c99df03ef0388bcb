// Plain passes over memory: bias, bias gradient, residual sum, rounding, tanh, slicing.
#include "engine/device/cuda/elementwise.cuh"

#include "engine/device/cuda/column_sums.cuh"
#include "engine/device/cuda/copy_rows.cuh"
#include "engine/device/cuda/formulas.h"

namespace shardlens::cuda {

namespace {

template <class T>
struct Sum {
  __device__ T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct Round {
  T high;
  __device__ T operator()(T x, T) const { return rounded(x, high); }
};
template <class T>
struct Tanh {
  __device__ T operator()(T x, T) const { return std::tanh(x); }
};
template <class T>
struct TanhGradient {
  __device__ T operator()(T y, T dy) const { return dy * (T(1) - y * y); }
};

/// A block takes a chunk of a row, and a thread a pack of it. The bias is the same for every row and stays in
/// cache.
template <class S>
__global__ void bias_add_kernel(RowChunks chunks, const S* x, const S* bias, const S* addend, S* y,
                                bool aligned) {
  const int64_t chunk = blockIdx.x, row = chunks.row(chunk), end = chunks.end(chunk);
  const int64_t col = chunks.begin(chunk) + int64_t{threadIdx.x} * kLanes<S>;
  if (col >= end) return;
  const int64_t at = row * chunks.length + col;
  Computed<S> value[kLanes<S>], shift[kLanes<S>];
  load_pack(x + at, end - col, aligned, Computed<S>(0), value);
  load_pack(bias + col, end - col, aligned, Computed<S>(0), shift);
#pragma unroll
  for (int lane = 0; lane < kLanes<S>; ++lane) value[lane] += shift[lane];
  if (addend != nullptr) {
    load_pack(addend + at, end - col, aligned, Computed<S>(0), shift);
#pragma unroll
    for (int lane = 0; lane < kLanes<S>; ++lane) value[lane] = shift[lane] + as_stored<S>(value[lane]);
  }
  store_pack(y + at, end - col, aligned, value);
}

/// The one term of a bias gradient.
template <class S>
struct BiasTerm {
  const S* dy;
  int64_t cols;
  bool aligned;

  template <bool kWhole>
  __device__ void get(int64_t row, int64_t col, int64_t count, Computed<S> (&terms)[1][kLanes<S>]) const {
    load_pack<kWhole>(dy + row * cols + col, count, aligned, Computed<S>(0), terms[0]);
  }
};

}  // namespace

void CudaDevice::bias_add(const BiasAdd& op) {
  with_element_type(op.dtype, "a bias", [&](auto zero) {
    using S = decltype(zero);
    constexpr int kThreads = 128;
    const RowChunks chunks{op.rows, op.cols, int64_t{kThreads} * kLanes<S>};
    // A null addend is at address 0, which is aligned.
    const bool aligned = rows_aligned<S>(op.cols, op.x, op.bias, op.y, op.addend);
    Operation(*this, "a bias")
        .launch(bias_add_kernel<S>, chunks.count(), kThreads, 0, chunks, static_cast<const S*>(op.x),
                static_cast<const S*>(op.bias), static_cast<const S*>(op.addend), static_cast<S*>(op.y),
                aligned);
  });
}

void CudaDevice::bias_grad(DType dtype, int64_t rows, int64_t cols, const void* dy, void* db,
                           bool accumulate) {
  with_element_type(dtype, "a bias gradient", [&](auto zero) {
    using S = decltype(zero);
    const BiasTerm<S> term{static_cast<const S*>(dy), cols, rows_aligned<S>(cols, dy)};
    column_sums<S, 1>(Operation(*this, "a bias gradient"), rows, cols, term,
                      {{static_cast<Computed<S>*>(db)}}, accumulate);
  });
}

void CudaDevice::add(DType dtype, int64_t count, const void* a, const void* b, void* y) {
  with_element_type(dtype, "a sum", [&](auto zero) {
    using S = decltype(zero);
    map<S>(Operation(*this, "a sum"), count, a, b, y, Sum<Computed<S>>{});
  });
}

void CudaDevice::round(DType dtype, int64_t count, int limit, const void* x, void* y) {
  with_wide_type(dtype, "rounding", [&](auto zero) {
    using T = decltype(zero);
    map<T>(Operation(*this, "rounding"), count, x, x, y, Round<T>{static_cast<T>(limit)});
  });
}

void CudaDevice::tanh(DType dtype, int64_t count, const void* x, void* y) {
  with_element_type(dtype, "tanh", [&](auto zero) {
    using S = decltype(zero);
    map<S>(Operation(*this, "tanh"), count, x, x, y, Tanh<Computed<S>>{});
  });
}

void CudaDevice::tanh_grad(const TanhGrad& op) {
  with_element_type(op.dtype, "the gradient of tanh", [&](auto zero) {
    using S = decltype(zero);
    map<S>(Operation(*this, "the gradient of tanh"), op.count, op.y, op.dy, op.dx,
           TanhGradient<Computed<S>>{});
  });
}

void CudaDevice::slice(DType dtype, const Slicing& slicing, Range range, const void* full, void* shard) {
  const Operation operation(*this, "a slice");
  const int64_t element = element_bytes(dtype);
  const int64_t run = range.size() * slicing.inner * element,
                stride = slicing.extent * slicing.inner * element;
  const char* from = static_cast<const char*>(full) + range.begin * slicing.inner * element;
  copy_rows(operation, slicing.outer, run, from, stride, shard, run);
}

}  // namespace shardlens::cuda
