// The CUDA device: one rank's GPU, or its share of one. Each operation is implemented in the file of its name
// in this folder, and only asks for work: kernels and copies run in order in one stream. The host waits only
// in synchronize() and in copies; a small copy to the GPU does not wait. All memory that operations need in
// addition to their arguments is allocated when the device is made. This header names CUDA's types without
// including CUDA's headers.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "engine/device/device.h"
#include "engine/device/gpu_facts.h"

struct CUevent_st;
struct CUstream_st;

namespace shardlens {

struct CudaOptions {
  bool tf32 = false;  ///< fp32 products in the matrix units' 19-bit format: several times faster, error 3e-4
};

/// Makes the device of GPU number `gpu`, in the driver's order. If that fails, throws a run Error with the
/// call and CUDA's message.
std::unique_ptr<Device> make_cuda_device(int gpu, const CudaOptions& options = {});

namespace cuda {

class CudaOrder;
class Products;
struct Fault;
class Operation;

/// Of kernels that may begin before the one before them has ended (Operation::launch_for_token()).
struct EarlyKernels {
  std::optional<bool> is_possible;  ///< with the code that runs on this GPU; nothing: not asked yet
  bool token_kernel_last = false;   ///< the last work that was asked for is one that lets the next one begin
};

class CudaDevice final : public Device {
 public:
  /// Counters for blocks that find out which of them is the last one, behind the scratch.
  static constexpr int64_t kTickets = 4096;

  CudaDevice(int gpu, const CudaOptions& options);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  int gpu() const { return gpu_; }
  /// The stream in which the operations run.
  CUstream_st* stream() const { return stream_; }

  std::string name() const override;

  void* allocate(size_t bytes) override;
  void release(void* memory) noexcept override;
  void copy_to_device(void* to, const void* from_host, size_t bytes) override;
  void set_zero(void* to, size_t bytes) override;
  void copy_to_host(void* to_host, const void* from, size_t bytes) override;
  void synchronize() override;
  bool host_visible() const override { return false; }
  WorkBehind* behind() override;
  CudaOrder& order() const { return *order_; }

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
  void token_product(const TokenProduct& op) override;
  void token_attention(const TokenAttention& op) override;
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
  friend class Operation;

  /// Scratch for one operation at a time, because operations run in order in one stream.
  static constexpr size_t kScratchBytes = kGpuScratchBytes;
  /// Room for the inputs of most passes, and for a token's logits.
  static constexpr size_t kPinnedBytes = size_t{256} << 10;

  void free_everything() noexcept;
  void wait_for_both_orders(const Operation& operation);
  void copy_small_to_device(const Operation& operation, void* to, const void* from_host, size_t bytes);
  void copy_small_to_host(const Operation& operation, void* to_host, const void* from, size_t bytes);
  /// Throws an Error if a kernel found wrong numbers in the device's memory.
  void report_fault();
  /// Asks for a check of a shape's positions. The next wait for the device reports a fault.
  void check_positions(const Operation& operation, const CacheShape& shape);
  /// `append` may be null: the cache has the new rows already.
  void attend_token(const CacheAppend* append, const CachedAttention& op);

  int gpu_;
  std::string name_;
  CUstream_st* stream_ = nullptr;
  void* scratch_ = nullptr;
  unsigned* tickets_ = nullptr;                    // in the scratch's allocation
  int64_t multiprocessors_ = 0, shared_room_ = 0;  // of the GPU; bytes of a multiprocessor
  mutable EarlyKernels early_;
  Fault* fault_ = nullptr;             // in host memory; kernels can write it
  void* pinned_ = nullptr;             // host memory for small copies, one at a time
  CUevent_st* pinned_free_ = nullptr;  // reached when the copy from pinned_ is done
  std::unique_ptr<Products> products_;
  std::unique_ptr<CudaOrder> order_;
};

}  // namespace cuda

}  // namespace shardlens
