// GeLU and its gradient, with formulas.h. Memory limits the speed, so each is one pass, 16 bytes at a time.
#include "engine/device/cuda/elementwise.cuh"
#include "engine/device/cuda/formulas.h"

namespace shardlens::cuda {

namespace {

template <class T>
struct Gelu {
  Activation form;
  __device__ T operator()(T x, T) const { return x * gelu_gate(form, x).value; }
};

template <class T>
struct GeluGradient {
  Activation form;
  __device__ T operator()(T x, T dy) const {
    const Gate<T> gate = gelu_gate(form, x);
    return dy * (gate.value + x * gate.slope);
  }
};

}  // namespace

void CudaDevice::gelu(DType dtype, Activation form, int64_t count, const void* x, void* y) {
  with_element_type(dtype, "GeLU", [&](auto zero) {
    using S = decltype(zero);
    map<S>(Operation(*this, "GeLU"), count, x, x, y, Gelu<Computed<S>>{form});
  });
}

void CudaDevice::gelu_grad(const GeluGrad& op) {
  with_element_type(op.dtype, "the gradient of GeLU", [&](auto zero) {
    using S = decltype(zero);
    map<S>(Operation(*this, "the gradient of GeLU"), op.count, op.x, op.dy, op.dx,
           GeluGradient<Computed<S>>{op.form});
  });
  // A second kernel, because its blocks take columns, not elements. dx is still in the second cache.
  const BiasSums& sums = op.sums;
  if (sums.db != nullptr && sums.cols > 0)
    bias_grad(op.dtype, op.count / sums.cols, sums.cols, op.dx, sums.db, sums.accumulate);
}

}  // namespace shardlens::cuda
