// One rank's compute device, as the executor sees it: the operations of a Program on raw, contiguous,
// row-major buffers of its own memory. Every operation exists once per device folder under the same file name
// (cpu/gemm.cpp, cuda/gemm.cu). A method returns when its result may be read by the same device;
// synchronize() when by anyone.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "engine/config/settings.h"
#include "engine/program/layout.h"

namespace shardlens {

/// C[m, n] = op(A)·op(B) (+ bias[n] on every row). Row-major; op(A) is [m, k] and op(B) is [k, n] after the
/// transposition; lda, ldb, ldc are row strides in elements of the matrices as stored.
struct Gemm {
  DType dtype = DType::Fp32;
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  int64_t lda = 0;
  const void* b = nullptr;
  int64_t ldb = 0;
  void* c = nullptr;
  int64_t ldc = 0;
  const void* bias = nullptr;
};

/// Attention over one rank's heads. QKV and dQKV are [batch*seq, 3, heads, head_dim], P is [batch*seq, heads,
/// seq], C and dC are [batch*seq, heads, head_dim]. `heads` is the rank's own count and may be 0.
struct AttentionShape {
  DType dtype = DType::Fp32;
  int64_t batch = 0, seq = 0, heads = 0, head_dim = 0;
  bool causal = false;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;  ///< "cpu, 1 thread"

  /// Memory for an arena, aligned to 64 bytes at least. Throws a run Error that gives the bytes when there is
  /// none.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  virtual void copy_to_device(void* to, const void* from_host, size_t bytes) = 0;
  virtual void copy_to_host(void* to_host, const void* from, size_t bytes) = 0;
  virtual void synchronize() = 0;

  virtual void gemm(const Gemm& gemm) = 0;

  /// y[rows, cols] = x + bias[cols]. y may be x.
  virtual void bias_add(DType dtype, int64_t rows, int64_t cols, const void* x, const void* bias,
                        void* y) = 0;
  /// db[cols] = sum over rows of dy[rows, cols]
  virtual void bias_grad(DType dtype, int64_t rows, int64_t cols, const void* dy, void* db) = 0;

  /// y = GeLU(x), tanh or erf form, over count elements. An element's result never depends on its position.
  virtual void gelu(DType dtype, GeluForm form, int64_t count, const void* x, void* y) = 0;
  /// dx = dy * GeLU'(x)
  virtual void gelu_grad(DType dtype, GeluForm form, int64_t count, const void* x, const void* dy,
                         void* dx) = 0;

  /// y = gamma * (x - mean) / sqrt(var + epsilon) + beta per row; stats[rows, 2] = mean, 1/sqrt(var +
  /// epsilon).
  virtual void layer_norm(DType dtype, int64_t rows, int64_t cols, double epsilon, const void* x,
                          const void* gamma, const void* beta, void* y, void* stats) = 0;
  /// dx[rows, cols], dgamma[cols], dbeta[cols]
  virtual void layer_norm_grad(DType dtype, int64_t rows, int64_t cols, const void* x, const void* gamma,
                               const void* stats, const void* dy, void* dx, void* dgamma, void* dbeta) = 0;

  /// P = softmax(Q·Kᵀ/sqrt(head_dim) + mask), C = P·V. Masked entries of P are 0.
  virtual void attention(const AttentionShape& shape, const void* qkv, void* probs, void* context) = 0;
  /// dQKV from dC. `workspace` holds attention_workspace_elements(shape) elements; probs is overwritten.
  virtual void attention_grad(const AttentionShape& shape, const void* qkv, void* probs, const void* context,
                              const void* dcontext, void* dqkv, void* workspace) = 0;

  /// y = a + b. y may be a or b.
  virtual void add(DType dtype, int64_t count, const void* a, const void* b, void* y) = 0;
  /// y = clamp(nearest integer of x, -limit, limit); ties to even.
  virtual void round(DType dtype, int64_t count, int limit, const void* x, void* y) = 0;

  /// Copies the range `range` of the sliced dimension out of a full tensor into a shard.
  virtual void slice(DType dtype, const Slicing& slicing, Range range, const void* full, void* shard) = 0;
};

/// Elements of scratch attention_grad needs per rank, whatever the rank's number of heads and threads: a
/// block of query rows times the sequence for each of the threads that may share it. Planned like every other
/// buffer.
int64_t attention_workspace_elements(int64_t seq);

/// A CPU device that computes with `threads` threads. One lives in each rank's thread and is used from it
/// alone.
std::unique_ptr<Device> make_cpu_device(int threads);

/// Cores this process may run on.
int available_cores();

}  // namespace shardlens
