// Attention over one rank's heads, forward and backward, one (sequence, head) pair at a time: products on
// blocks of query rows, skipping what lies wholly above the causal diagonal. A head is computed by the same
// calls whichever other heads the rank holds, so a head's bits do not depend on T.
#include <algorithm>
#include <cmath>

#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/gemm.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/vector.h"

namespace shardlens {

namespace {
constexpr int64_t kBlockRows = 64;  // query rows (forward, dQ) or key rows (dK, dV) of one product
}

int64_t attention_workspace_elements(int64_t seq) {
  return kBlockRows * seq;
}

namespace cpu {

namespace {

/// One head of one sequence: matrices [seq, head_dim] (P: [seq, seq]) as rows at a stride.
template <class T>
struct Rows {
  T* first = nullptr;
  int64_t stride = 0;
  T* at(int64_t row) const { return first + row * stride; }
};

template <class T>
void multiply_rows(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const T* a,
                   int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc) {
  multiply(Product<T>{transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc});
}

/// scores[0, valid) -> softmax(scale·scores); [valid, seq) -> 0. Whole vectors; missing lanes count as
/// masked.
template <class T>
void softmax_row(T* scores, int64_t valid, int64_t seq, T scale) {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  Vector<T> largest = Vector<T>{} + kLowest;
  for (int64_t i = 0; i < valid; i += kLanes<T>) {
    const Vector<T> v = load_part(scores + i, std::min(kLanes<T>, valid - i), kLowest);
    largest = v > largest ? v : largest;
  }
  const T top = max_lanes<T>(largest) * scale;
  Vector<T> sums{};
  for (int64_t i = 0; i < valid; i += kLanes<T>) {
    const int64_t n = std::min(kLanes<T>, valid - i);
    const Vector<T> e = exp<T>(load_part(scores + i, n, kLowest) * scale - top);
    sums += e;
    store_part<T>(scores + i, e, n);
  }
  const T inverse = T(1) / sum_lanes<T>(sums);
  for (int64_t i = 0; i < valid; ++i) scores[i] *= inverse;
  std::fill(scores + valid, scores + seq, T(0));
}

/// probs[0, valid) -> dS = probs·(dprobs − delta)·scale.
template <class T>
void softmax_grad_row(T* probs, const T* dprobs, int64_t valid, T delta, T scale) {
  for (int64_t i = 0; i < valid; ++i) probs[i] = probs[i] * (dprobs[i] - delta) * scale;
}

template <class T>
T dot(const T* a, const T* b, int64_t count) {
  Vector<T> total{};
  for (int64_t i = 0; i < count; i += kLanes<T>) {
    const int64_t n = std::min(kLanes<T>, count - i);
    total += load_part(a + i, n, T(0)) * load_part(b + i, n, T(0));
  }
  return sum_lanes<T>(total);
}

/// Head `head` of part `part` of a tensor [tokens, parts, heads, width], from `first_token` on.
template <class T>
Rows<T> head_rows(T* tensor, int64_t first_token, int64_t parts, int64_t part, int64_t heads, int64_t head,
                  int64_t width) {
  const int64_t stride = parts * heads * width;
  return {tensor + first_token * stride + (part * heads + head) * width, stride};
}

}  // namespace

void CpuDevice::attention(const AttentionShape& shape, const void* qkv, void* probs, void* context) {
  with_element_type(shape.dtype, "attention", [&](auto zero) {
    using T = decltype(zero);
    const int64_t seq = shape.seq, d = shape.head_dim;
    const T scale = T(1) / std::sqrt(static_cast<T>(d));
    parallel_for(threads_, shape.batch * shape.heads, [&](int64_t pair) {
      const int64_t token = pair / shape.heads * seq, head = pair % shape.heads;
      const T* in = static_cast<const T*>(qkv);
      const Rows<const T> q = head_rows(in, token, 3, 0, shape.heads, head, d);
      const Rows<const T> k = head_rows(in, token, 3, 1, shape.heads, head, d);
      const Rows<const T> v = head_rows(in, token, 3, 2, shape.heads, head, d);
      const Rows<T> p = head_rows(static_cast<T*>(probs), token, 1, 0, shape.heads, head, seq);
      const Rows<T> c = head_rows(static_cast<T*>(context), token, 1, 0, shape.heads, head, d);
      for (int64_t top = 0; top < seq; top += kBlockRows) {
        const int64_t rows = std::min(kBlockRows, seq - top);
        const int64_t keys = shape.causal ? top + rows : seq;
        multiply_rows<T>(false, true, rows, keys, d, q.at(top), q.stride, k.first, k.stride, p.at(top),
                         p.stride);
        for (int64_t row = top; row < top + rows; ++row)
          softmax_row<T>(p.at(row), shape.causal ? row + 1 : seq, seq, scale);
        multiply_rows<T>(false, false, rows, d, keys, p.at(top), p.stride, v.first, v.stride, c.at(top),
                         c.stride);
      }
    });
  });
}

void CpuDevice::attention_grad(const AttentionShape& shape, const void* qkv, void* probs, const void* context,
                               const void* dcontext, void* dqkv, void* workspace) {
  with_element_type(shape.dtype, "the gradient of attention", [&](auto zero) {
    using T = decltype(zero);
    const int64_t seq = shape.seq, d = shape.head_dim;
    const T scale = T(1) / std::sqrt(static_cast<T>(d));
    const T* in = static_cast<const T*>(qkv);
    T* dprobs = static_cast<T*>(workspace);
    for (int64_t pair = 0; pair < shape.batch * shape.heads; ++pair) {
      const int64_t token = pair / shape.heads * seq, head = pair % shape.heads;
      const Rows<const T> q = head_rows(in, token, 3, 0, shape.heads, head, d);
      const Rows<const T> k = head_rows(in, token, 3, 1, shape.heads, head, d);
      const Rows<const T> v = head_rows(in, token, 3, 2, shape.heads, head, d);
      const Rows<T> dq = head_rows(static_cast<T*>(dqkv), token, 3, 0, shape.heads, head, d);
      const Rows<T> dk = head_rows(static_cast<T*>(dqkv), token, 3, 1, shape.heads, head, d);
      const Rows<T> dv = head_rows(static_cast<T*>(dqkv), token, 3, 2, shape.heads, head, d);
      const Rows<T> p = head_rows(static_cast<T*>(probs), token, 1, 0, shape.heads, head, seq);
      const Rows<const T> c = head_rows(static_cast<const T*>(context), token, 1, 0, shape.heads, head, d);
      const Rows<const T> dc = head_rows(static_cast<const T*>(dcontext), token, 1, 0, shape.heads, head, d);
      // dV = Pᵀ·dC, by key blocks: a causal block has no query above its first row.
      for (int64_t left = 0; left < seq; left += kBlockRows) {
        const int64_t keys = std::min(kBlockRows, seq - left), top = shape.causal ? left : 0;
        multiply_rows<T>(true, false, keys, d, seq - top, p.at(top) + left, p.stride, dc.at(top), dc.stride,
                         dv.at(left), dv.stride);
      }
      // dP = dC·Vᵀ; dS = P∘(dP − rowsum(dC∘C))·scale takes the place of P; dQ = dS·K.
      for (int64_t top = 0; top < seq; top += kBlockRows) {
        const int64_t rows = std::min(kBlockRows, seq - top), keys = shape.causal ? top + rows : seq;
        multiply_rows<T>(false, true, rows, keys, d, dc.at(top), dc.stride, v.first, v.stride, dprobs, seq);
        for (int64_t row = top; row < top + rows; ++row)
          softmax_grad_row<T>(p.at(row), dprobs + (row - top) * seq, shape.causal ? row + 1 : seq,
                              dot<T>(dc.at(row), c.at(row), d), scale);
        multiply_rows<T>(false, false, rows, d, keys, p.at(top), p.stride, k.first, k.stride, dq.at(top),
                         dq.stride);
      }
      // dK = dSᵀ·Q
      for (int64_t left = 0; left < seq; left += kBlockRows) {
        const int64_t keys = std::min(kBlockRows, seq - left), top = shape.causal ? left : 0;
        multiply_rows<T>(true, false, keys, d, seq - top, p.at(top) + left, p.stride, q.at(top), q.stride,
                         dk.at(left), dk.stride);
      }
    }
  });
}

}  // namespace cpu

}  // namespace shardlens
