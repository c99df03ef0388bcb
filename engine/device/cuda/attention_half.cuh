// Attention in 16 bits on the matrix units, for suitable heads: attention_half.cu has the forward pass,
// attention_half_query_grad.cu dQ, and attention_half_key_grad.cu dK and dV.
#pragma once

#include "engine/device/cuda/attention.cuh"

namespace shardlens::cuda {

/// True if these kernels can compute it: a head is whole packs of eight numbers, and few enough for the
/// registers.
template <class S>
bool suits_matrix_units(const AttentionView<S>& a) {
  return kIsHalf<S> && a.head_dim > 0 && a.head_dim <= 128 && a.head_dim % 8 == 0 &&
         rows_aligned<S>(kLanes<S>, a.q.first, a.k.first, a.v.first);
}

void attention_on_matrix_units(const Operation& operation, const AttentionView<__nv_bfloat16>& a,
                               HeadRows<__nv_bfloat16> context);
void attention_on_matrix_units(const Operation& operation, const AttentionView<__half>& a,
                               HeadRows<__half> context);
void query_grad_on_matrix_units(const Operation& operation, const AttentionView<__nv_bfloat16>& a,
                                const AttentionGradView<__nv_bfloat16>& gradient);
void query_grad_on_matrix_units(const Operation& operation, const AttentionView<__half>& a,
                                const AttentionGradView<__half>& gradient);
void key_grad_on_matrix_units(const Operation& operation, const AttentionView<__nv_bfloat16>& a,
                              const AttentionGradView<__nv_bfloat16>& gradient);
void key_grad_on_matrix_units(const Operation& operation, const AttentionView<__half>& a,
                              const AttentionGradView<__half>& gradient);

}  // namespace shardlens::cuda
