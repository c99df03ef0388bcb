// One pack of a row in LayerNorm: the sum before it, and y. For the kernel of its own and for products that
// begin with a LayerNorm, so that both have the same bits.
#pragma once

#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

/// A row's mean and 1/sqrt(var + epsilon).
template <class T>
struct Moments {
  T mean, inverse;
};

/// A pack of a row, in the type to compute in.
template <class S>
struct Values {
  Computed<S> lane[kLanes<S>];
};

/// y of one pack, before it is rounded, from its x.
template <bool kWhole, class S, class T = Computed<S>>
__device__ __forceinline__ Values<S> normed_pack(int64_t col, int64_t count, const Values<S>& x,
                                                 const S* gamma, const S* beta, Moments<T> moments,
                                                 bool aligned) {
  Values<S> y;
  T gain[kLanes<S>], shift[kLanes<S>];
  load_pack<kWhole>(gamma + col, count, aligned, T(0), gain);
  load_pack<kWhole>(beta + col, count, aligned, T(0), shift);
#pragma unroll
  for (int i = 0; i < kLanes<S>; ++i)
    y.lane[i] = (x.lane[i] - moments.mean) * moments.inverse * gain[i] + shift[i];
  return y;
}

/// x + (a + bias) of one pack of a row, rounded as by a store and a load.
template <bool kWhole, class S>
__device__ __forceinline__ Values<S> summed_pack(int64_t col, int64_t count, const S* x, const S* a,
                                                 const S* bias, bool aligned) {
  Values<S> pack;
  Computed<S> other[kLanes<S>];
  load_pack<kWhole>(a + col, count, aligned, Computed<S>(0), pack.lane);
  if (bias != nullptr) {
    load_pack<kWhole>(bias + col, count, aligned, Computed<S>(0), other);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) pack.lane[i] = as_stored<S>(pack.lane[i] + other[i]);
  }
  load_pack<kWhole>(x + col, count, aligned, Computed<S>(0), other);
#pragma unroll
  for (int i = 0; i < kLanes<S>; ++i) pack.lane[i] = as_stored<S>(other[i] + pack.lane[i]);
  return pack;
}

/// The sum before a LayerNorm, typed. `sum` is null if x itself is normalised.
template <class S>
struct RowSum {
  const S *a, *bias;
  S* sum;
};

}  // namespace shardlens::cuda
