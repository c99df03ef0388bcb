// Cross-entropy over one rank's columns of the vocabulary. Padding does not count: it is not in the maximum
// or the sum, and its gradient is zero. So the loss does not depend on the padding of the vocabulary.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

constexpr int64_t kRowGroup = 4;  // tokens a thread takes at a time

/// The number of the shard's columns that are not padding.
int64_t present(const VocabShard& shard) {
  return std::clamp<int64_t>(shard.vocab - shard.columns.begin, 0, shard.columns.size());
}

/// Calls body(token) for all tokens, in groups.
template <class Body>
void for_tokens(int threads, int64_t tokens, Body&& body) {
  parallel_for(threads, (tokens + kRowGroup - 1) / kRowGroup, [&](int64_t group) {
    for (int64_t t = group * kRowGroup; t < std::min(tokens, (group + 1) * kRowGroup); ++t) body(t);
  });
}

}  // namespace

void CpuDevice::vocab_max(const VocabShard& shard, const void* logits, void* max) {
  with_element_type(shard.dtype, "a maximum", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const int64_t cols = present(shard);
    for_tokens(threads_, shard.tokens, [&](int64_t t) {
      const S* row = static_cast<const S*>(logits) + t * shard.columns.size();
      constexpr T kLowest = std::numeric_limits<T>::lowest();  // the maximum of a rank with only padding
      const Vector<T> largest =
          fold_vectors<T>(cols, Vector<T>{} + kLowest, [&](Vector<T> so_far, int64_t i, auto n) {
            const Vector<T> v = load_ahead(row + i, n, kLowest);
            return v > so_far ? v : so_far;
          });
      static_cast<T*>(max)[t] = std::max(kLowest, max_lanes<T>(largest));
    });
  });
}

void CpuDevice::target_logit(const VocabShard& shard, const void* logits, const int32_t* labels,
                             void* target) {
  with_element_type(shard.dtype, "a target logit", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    for (int64_t t = 0; t < shard.tokens; ++t) {
      const int64_t col = labels[t] - shard.columns.begin;
      const bool mine = labels[t] >= 0 && col >= 0 && col < shard.columns.size();
      static_cast<T*>(target)[t] =
          mine ? T(static_cast<const S*>(logits)[t * shard.columns.size() + col]) : T(0);
    }
  });
}

void CpuDevice::sum_exp(const SumExp& op) {
  const VocabShard& shard = op.shard;
  with_element_type(shard.dtype, "a sum of exponentials", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const int64_t cols = present(shard);
    for_tokens(threads_, shard.tokens, [&](int64_t t) {
      const S* row = static_cast<const S*>(op.logits) + t * shard.columns.size();
      const T top = static_cast<const T*>(op.max)[t];
      const Vector<T> total = fold_vectors<T>(cols, Vector<T>{}, [&](Vector<T> so_far, int64_t i, auto n) {
        return so_far + exp<T>(load_ahead(row + i, n, -std::numeric_limits<T>::infinity()) - top);
      });
      static_cast<T*>(op.sum)[t] = sum_lanes<T>(total);
    });
  });
}

void CpuDevice::cross_entropy(const CrossEntropy& op) {
  with_wide_type(op.dtype, "cross-entropy", [&](auto zero) {
    using T = decltype(zero);
    double total = 0;
    for (int64_t t = 0; t < op.tokens; ++t) {
      const T weight = static_cast<const T*>(op.weights)[t];
      if (weight == T(0)) continue;  // an ignored label has no logit
      const T value = static_cast<const T*>(op.max)[t] + std::log(static_cast<const T*>(op.sum)[t]) -
                      static_cast<const T*>(op.target)[t];
      total += static_cast<double>(weight) * static_cast<double>(value);
    }
    *static_cast<T*>(op.loss) = static_cast<T>(total);
  });
}

void CpuDevice::cross_entropy_grad(const CrossEntropyGrad& op) {
  const VocabShard& shard = op.shard;
  with_element_type(shard.dtype, "the gradient of cross-entropy", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const int64_t width = shard.columns.size();
    const int64_t cols = present(shard);
    const T factor = op.scale == nullptr ? T(1) : *static_cast<const T*>(op.scale);
    for_tokens(threads_, shard.tokens, [&](int64_t t) {
      const S* row = static_cast<const S*>(op.logits) + t * width;
      S* out = static_cast<S*>(op.dlogits) + t * width;
      const T weight = static_cast<const T*>(op.weights)[t] * factor;
      if (weight == T(0)) {
        std::fill_n(out, width, S(T(0)));
        return;
      }
      const T top = static_cast<const T*>(op.max)[t];
      const T inverse = weight / static_cast<const T*>(op.sum)[t];
      const int64_t label = op.labels[t] - shard.columns.begin;
      const bool mine = op.labels[t] >= 0 && label >= 0 && label < cols;
      const T label_logit = mine ? T(row[label]) : T(0);
      for_vectors<T>(cols, [&](int64_t i, auto n) {
        store_part(out + i, exp<T>(load_ahead(row + i, n, T(0)) - top) * inverse, n);
      });
      std::fill(out + cols, out + width, S(T(0)));
      if (mine)  // from the logit, not from out: a difference is rounded to a 16-bit format once
        out[label] = S(exp<T>(Vector<T>{} + (label_logit - top))[0] * inverse - weight);
    });
  });
}

}  // namespace shardlens::cpu
