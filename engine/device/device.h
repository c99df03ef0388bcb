// The compute device of one rank: memory, and the operations of a Program on it. Each operation is
// implemented once for each device, in files of the same name (cpu/gemm.cpp, cuda/gemm.cu). operations.h
// describes what the operations compute.
//
// When a method returns, later operations of the same device may read its result. Other readers must call
// synchronize() first. The structs and lists that are passed are host memory and may end when the method
// returns; the pointers inside them point to the device's memory. An operation can find an error in numbers
// in the device's memory (CacheShape::positions). A device that works behind its calls throws it at the next
// synchronize() or copy_to_host(), and has written nothing out of place until then.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "engine/config/settings.h"
#include "engine/device/operations.h"
#include "engine/program/layout.h"

namespace shardlens {

class WorkBehind;

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;  ///< "cpu, 1 thread"

  /// Memory for an arena, aligned to at least 64 bytes. Throws a run Error that gives the bytes if there is
  /// not enough.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  virtual void copy_to_device(void* to, const void* from_host, size_t bytes) = 0;
  /// Sets the bytes [to, to + bytes) to 0, in order with the operations.
  virtual void set_zero(void* to, size_t bytes) = 0;
  virtual void copy_to_host(void* to_host, const void* from, size_t bytes) = 0;
  virtual void synchronize() = 0;
  /// False if the host must not touch the device's memory. Then only copy_to_device() and copy_to_host()
  /// reach it. The first returns when the host's bytes may be changed, the second when they have arrived.
  virtual bool host_visible() const { return true; }
  /// The width of the panels (panels.h) for B in gemm(). If B is multiplied with one row after the other,
  /// panels are faster than row-major. 0: the device reads no panels. Only a device whose memory the host may
  /// touch has them.
  virtual int64_t panel_cols() const { return 0; }
  /// Orders and times the work of a device that works behind its calls. Null: a method returns when its work
  /// is done.
  virtual WorkBehind* behind() { return nullptr; }

  virtual void gemm(const Gemm& gemm) = 0;

  virtual void bias_add(const BiasAdd& op) = 0;
  /// db[cols] = Σ dy[rows, cols] over the rows. db is wide.
  virtual void bias_grad(DType dtype, int64_t rows, int64_t cols, const void* dy, void* db,
                         bool accumulate = false) = 0;

  /// y = GeLU(x) over `count` elements. An element's result does not depend on its position.
  virtual void gelu(DType dtype, Activation form, int64_t count, const void* x, void* y) = 0;
  virtual void gelu_grad(const GeluGrad& op) = 0;

  virtual void layer_norm(const LayerNorm& op) = 0;
  virtual void layer_norm_grad(const LayerNormGrad& op) = 0;

  /// sums[rows, 2] = Σx and Σ(x − m)² over the rank's columns of each row, where m is their mean. x is [rows,
  /// cols], sums is wide.
  virtual void layer_norm_sums(const CutNorm& norm, const void* x, void* sums) = 0;
  virtual void layer_norm_apply(const LayerNormApply& op) = 0;
  virtual void layer_norm_grad_sums(const LayerNormGradSums& op) = 0;
  virtual void layer_norm_grad_apply(const LayerNormGradApply& op) = 0;

  virtual void attention(const Attention& op) = 0;
  virtual void attention_grad(const AttentionGrad& grad) = 0;

  virtual void cache_append(const CacheAppend& op) = 0;
  virtual void cached_attention(const CachedAttention& op) = 0;

  /// Several operations that follow one another, to their bits: for devices that do them at once.
  virtual void token_product(const TokenProduct& op) = 0;
  virtual void token_attention(const TokenAttention& op) = 0;

  /// y = a + b. y may be a or b.
  virtual void add(DType dtype, int64_t count, const void* a, const void* b, void* y) = 0;
  /// y = clamp(nearest integer of x, -limit, limit); ties go to the even integer.
  virtual void round(DType dtype, int64_t count, int limit, const void* x, void* y) = 0;

  /// Copies the range `range` of the sliced dimension from a full tensor into a shard.
  virtual void slice(DType dtype, const Slicing& slicing, Range range, const void* full, void* shard) = 0;

  virtual void embedding(const Embedding& op) = 0;
  virtual void embedding_grad(const EmbeddingGrad& op) = 0;
  /// y[batch, width] = the rows of x [batch*seq, width] at each sequence's first token.
  virtual void first_token(DType dtype, int64_t batch, int64_t seq, int64_t width, const void* x,
                           void* y) = 0;
  /// dx[batch*seq, width] = dy [batch, width] at each sequence's first token, 0 elsewhere.
  virtual void first_token_grad(DType dtype, int64_t batch, int64_t seq, int64_t width, const void* dy,
                                void* dx) = 0;
  virtual void tanh(DType dtype, int64_t count, const void* x, void* y) = 0;
  virtual void tanh_grad(const TanhGrad& op) = 0;
  /// y = x ∘ mask / (1 - p), for the elements at `place` of the full tensor.
  virtual void dropout(DType dtype, const DropoutMask& mask, const RowRuns& place, const void* x,
                       void* y) = 0;

  /// max[tokens] = the largest logit of each token on this rank.
  virtual void vocab_max(const VocabShard& shard, const void* logits, void* max) = 0;
  /// target[tokens] = the logit of each token's label, and 0 if another rank has the label or it is negative.
  virtual void target_logit(const VocabShard& shard, const void* logits, const int32_t* labels,
                            void* target) = 0;
  virtual void sum_exp(const SumExp& op) = 0;
  virtual void cross_entropy(const CrossEntropy& op) = 0;
  virtual void cross_entropy_grad(const CrossEntropyGrad& op) = 0;

  /// *total = Σ x² over all elements of all `tensors`, and 0 if there are none. The tensors have the dtype
  /// `dtype`. The order of the additions depends only on the list.
  virtual void square_sum(DType dtype, std::span<const ListedTensor> tensors, double* total) = 0;
  virtual void clip_factor(const ClipFactor& op) = 0;
  /// The bits are the same whether steps are passed in one call or in several. No step may write what another
  /// one reads or writes.
  virtual void adamw(std::span<const AdamWStep> steps) = 0;
};

/// The wide elements of scratch that attention and its gradient need on a rank, for any number of heads and
/// threads. Each thread that may take part needs blocks of query rows × the sequence. For a 16-bit dtype it
/// also needs a head's matrices in fp32. The scratch is planned like every other buffer.
int64_t attention_workspace_elements(DType dtype, int64_t seq, int64_t head_dim);

/// A CPU device that computes with `threads` threads. Each rank's thread makes its own device, and only that
/// thread uses it.
std::unique_ptr<Device> make_cpu_device(int threads);

/// The number of cores that this process may run on.
int available_cores();

}  // namespace shardlens
