// The CPU device: one rank's share of the cores. Each operation is implemented in the file of its name in
// this folder. Results do not depend on the number of threads. The bits of an element, row, column or head do
// not depend on how many of them the rank holds, so a sharded run gives the bits of a serial one.
#pragma once

#include <string>

#include "engine/base/error.h"
#include "engine/device/token_parts.h"
#include "engine/io/half.h"

namespace shardlens::cpu {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads);

  std::string name() const override;

  void* allocate(size_t bytes) override;
  void release(void* memory) noexcept override;
  void copy_to_device(void* to, const void* from_host, size_t bytes) override;
  void set_zero(void* to, size_t bytes) override;
  void copy_to_host(void* to_host, const void* from, size_t bytes) override;
  void synchronize() override {}
  int64_t panel_cols() const override;

  void gemm(const Gemm& gemm) override;
  void bias_add(const BiasAdd& op) override;
  void bias_grad(DType dtype, int64_t rows, int64_t cols, const void* dy, void* db, bool accumulate) override;
  void gelu(DType dtype, Activation form, int64_t count, const void* x, void* y) override;
  void gelu_grad(const GeluGrad& op) override;
  void layer_norm(const LayerNorm& op) override;
  void layer_norm_grad(const LayerNormGrad& op) override;
  void layer_norm_sums(const CutNorm& norm, const void* x, void* sums) override;
  void layer_norm_apply(const LayerNormApply& op) override;
  void layer_norm_grad_sums(const LayerNormGradSums& op) override;
  void layer_norm_grad_apply(const LayerNormGradApply& op) override;
  void attention(const Attention& op) override;
  void attention_grad(const AttentionGrad& grad) override;
  void cache_append(const CacheAppend& op) override;
  void cached_attention(const CachedAttention& op) override;
  void token_product(const TokenProduct& op) override { token_product_in_parts(*this, op); }
  void token_attention(const TokenAttention& op) override { token_attention_in_parts(*this, op); }
  void add(DType dtype, int64_t count, const void* a, const void* b, void* y) override;
  void round(DType dtype, int64_t count, int limit, const void* x, void* y) override;
  void slice(DType dtype, const Slicing& slicing, Range range, const void* full, void* shard) override;
  void embedding(const Embedding& op) override;
  void embedding_grad(const EmbeddingGrad& op) override;
  void first_token(DType dtype, int64_t batch, int64_t seq, int64_t width, const void* x, void* y) override;
  void first_token_grad(DType dtype, int64_t batch, int64_t seq, int64_t width, const void* dy,
                        void* dx) override;
  void tanh(DType dtype, int64_t count, const void* x, void* y) override;
  void tanh_grad(const TanhGrad& op) override;
  void dropout(DType dtype, const DropoutMask& mask, const RowRuns& place, const void* x, void* y) override;
  void vocab_max(const VocabShard& shard, const void* logits, void* max) override;
  void target_logit(const VocabShard& shard, const void* logits, const int32_t* labels,
                    void* target) override;
  void sum_exp(const SumExp& op) override;
  void cross_entropy(const CrossEntropy& op) override;
  void cross_entropy_grad(const CrossEntropyGrad& op) override;
  void square_sum(DType dtype, std::span<const ListedTensor> tensors, double* total) override;
  void clip_factor(const ClipFactor& op) override;
  void adamw(std::span<const AdamWStep> steps) override;

 private:
  int threads_;
};

/// Calls compute(T{}) with T = float or double, the types of statistics, weight gradients and the optimizer.
template <class Compute>
void with_wide_type(DType dtype, const char* operation, Compute&& compute) {
  switch (dtype) {
    case DType::Fp32:
      return compute(float{});
    case DType::Fp64:
      return compute(double{});
    case DType::Fp16:
    case DType::Bf16:
    case DType::Int32:
      break;
  }
  throw request_error(std::string(operation) + " in " + to_string(dtype) +
                      " is not executed on the CPU: it needs fp32 or fp64");
}

/// Calls compute(S{}) with the type that elements are stored as. Computed<S> is the type to compute in.
template <class Compute>
void with_element_type(DType dtype, const char* operation, Compute&& compute) {
  if (dtype == DType::Bf16) return compute(Bf16{});
  if (dtype == DType::Fp16) return compute(Fp16{});
  with_wide_type(dtype, operation, compute);
}

}  // namespace shardlens::cpu
