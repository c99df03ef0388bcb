// One rank's compute device, as the executor sees it: the operations of a Program on raw, contiguous,
// row-major buffers of its own memory. Every operation exists once per device folder under the same file name
// (cpu/gemm.cpp, cuda/gemm.cu). A method returns when its result may be read by the same device;
// synchronize() when by anyone. Elements of a 16-bit dtype are computed with in fp32 and rounded once, when
// they are stored; sums and statistics that stay (`wide`) are fp32 then, and in the run's dtype otherwise.
//
// Every pointer an operation gets is the device's memory, those inside its shape too (masks, positions, a
// factor). Host memory are the shapes themselves, the lists of square_sum(), clip_factor() and adamw(), whose
// entries point at the device's again and which end with the call, and what copy_to_device() reads and
// copy_to_host() writes. Where numbers in the device's memory decide about an error (CacheShape::positions),
// a device that works behind its calls reports it when it is next waited for, by synchronize() or
// copy_to_host(), and has written nothing out of place until then.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "engine/config/settings.h"
#include "engine/program/layout.h"

namespace shardlens {

class WorkBehind;

/// The bias gradient that gelu_grad() makes beside dx [rows, cols]: db[cols] as bias_grad() makes it of dx.
/// Without `db`: none.
struct BiasSums {
  int64_t cols = 0;
  void* db = nullptr;
  bool accumulate = false;
};

/// What becomes of a product before it is stored: nothing; C = GeLU(H), where H is the product and its bias
/// and is stored beside C; or C = the product ∘ GeLU'(H), where H is read.
enum class AfterProduct { Nothing, Gelu, GeluGrad };

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
  bool wide_result = false;  ///< C is fp32 though A and B are 16 bits wide
  bool accumulate = false;   ///< C = C + op(A)·op(B); excludes a bias
  int64_t b_panel_cols = 0;  ///< B lies in panels so wide (panels.h), and is not transposed; 0: row-major
  /// Something: of C of the operands' dtype that is not accumulated, ldc = n. A device either does a product
  /// and a pass, to the bits of gemm() and then gelu() or gelu_grad(), or rounds what lies between the two
  /// not at all.
  AfterProduct after = AfterProduct::Nothing;
  GeluForm form = GeluForm::Tanh;
  void* before = nullptr;  ///< H [m, n], in rows of n
  BiasSums sums = {};      ///< with GeluGrad: of C
};

/// A dropout mask: element i of the full tensor is zero when the stream's i-th draw is below `probability`.
struct DropoutMask {
  double probability = 0;
  uint64_t seed = 0;
  uint64_t stream = 0;  ///< of the tensor's name and the iteration
};

/// Where [rows, run] elements lie in a full tensor: row i begins at its element first + i * stride.
struct RowRuns {
  int64_t first = 0, rows = 0, run = 0, stride = 0;
};

/// One rank's columns of a vocabulary: logits [tokens, columns.size()], of which those from `vocab` on are
/// padding and count as absent. `wide` is the dtype of the per-token numbers.
struct VocabShard {
  DType dtype = DType::Fp32;
  int64_t tokens = 0;
  Range columns;
  int64_t vocab = 0;
};

/// One tensor of a list: `count` elements, which may be none; `data` may then be null.
struct ListedTensor {
  int64_t count = 0;
  const void* data = nullptr;
};

/// One parameter's slice for AdamW, of any number of elements. Moments and gradient are fp32, or fp64 with an
/// fp64 parameter.
struct AdamWStep {
  DType dtype = DType::Fp32;
  int64_t count = 0;
  void* parameter = nullptr;
  const void* gradient = nullptr;
  void* first_moment = nullptr;
  void* second_moment = nullptr;
  void* master = nullptr;          ///< fp32 copy of a half-precision parameter; null otherwise
  const double* factor = nullptr;  ///< what the gradient is multiplied by; 0: the step is skipped
  double learning_rate = 0, weight_decay = 0, beta1 = 0, beta2 = 0, epsilon = 0;
  int64_t iteration = 1;  ///< from 1, for the bias corrections
};

/// Grouped queries: how one rank's query heads share its key heads. Its query head i reads key head (first +
/// i) / group of the rank's own.
struct KeyHeads {
  int64_t heads = 0;  ///< this rank's own, and may be 0
  int64_t group = 1;  ///< query heads that share one
  int64_t first = 0;  ///< the place of the rank's first query head, counted from its first key head
};

/// Attention over one rank's heads. QKV and dQKV are [batch*seq, 3, heads, head_dim], P is [batch*seq, heads,
/// seq], C and dC are [batch*seq, heads, head_dim]. `heads` is the rank's own count and may be 0.
struct AttentionShape {
  DType dtype = DType::Fp32;
  int64_t batch = 0, seq = 0, heads = 0, head_dim = 0;
  bool causal = false;
  bool recompute = false;         ///< P is not kept but computed again by the backward pass
  const int32_t* mask = nullptr;  ///< [batch*seq], 0 at keys nobody may see; null: all may be seen
  DropoutMask dropout = {};       ///< of the probabilities, by global element of P
  int64_t all_heads = 0, first_head = 0,
          first_token = 0;  ///< where this rank's P lies in the whole, for dropout
  /// Grouped queries: K and V are `kv` [batch*seq, 2, keys.heads, head_dim], dK and dV `dkv`, and QKV and
  /// dQKV are Q and dQ alone, [batch*seq, heads, head_dim]. Null: none of it.
  const void* kv = nullptr;
  void* dkv = nullptr;
  KeyHeads keys = {};
};

/// New tokens against a cache, one rank's heads. QKV is [batch*seq, 3, heads, head_dim], keys and values are
/// [batch*room, heads, head_dim], P is [batch*seq, heads, room], C is [batch*seq, heads, head_dim]. `heads`
/// is the rank's own count and may be 0.
struct CacheShape {
  DType dtype = DType::Fp32;
  int64_t batch = 0, seq = 0, room = 0, heads = 0, head_dim = 0;
  /// [batch*seq], where in its sequence each token stands: consecutive within a sequence, and below `room`.
  const int32_t* positions = nullptr;
  /// Grouped queries: QKV is Q alone, [batch*seq, heads, head_dim], for cached_attention() and KV alone,
  /// [batch*seq, 2, keys.heads, head_dim], for cache_append(); keys and values have keys.heads heads.
  bool grouped = false;
  KeyHeads keys = {};

  /// Of a sequence's first new token, where the host can read the positions. Throws a request Error where
  /// they are not as they must be.
  int64_t first_position(int64_t sequence) const;
};

/// What layer_norm() sums first: it then normalises sum [rows, cols] = x + (a + bias[cols]), which it writes.
/// Every sum is rounded as if it had been stored. Without `a` it normalises x.
struct SumBefore {
  const void* a = nullptr;
  const void* bias = nullptr;  ///< may be null
  void* sum = nullptr;
};

/// LayerNorm of rows whose columns are spread over the ranks: x is [rows, cols], a row has `hidden` columns
/// on all ranks together. sums [rows, 2] are Σx and Σx² of whole rows, wide.
struct CutNorm {
  DType dtype = DType::Fp32;
  int64_t rows = 0, cols = 0, hidden = 0;
  double epsilon = 0;
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
  /// Every byte of [to, to + bytes) becomes 0, in the order of the operations.
  virtual void set_zero(void* to, size_t bytes) = 0;
  virtual void copy_to_host(void* to_host, const void* from, size_t bytes) = 0;
  virtual void synchronize() = 0;
  /// False where the host must not touch the device's memory: it is reached by copy_to_device() and
  /// copy_to_host() alone, which return when the bytes have arrived.
  virtual bool host_visible() const { return true; }
  /// The width of the panels (panels.h) in which gemm() reads a B that is multiplied with one row after the
  /// other faster than row-major; 0: in none. Only of a device whose memory the host may touch.
  virtual int64_t panel_cols() const { return 0; }
  /// Of a device that works behind its calls, how it is ordered and timed; null: a method returns when its
  /// work is done.
  virtual WorkBehind* behind() { return nullptr; }

  virtual void gemm(const Gemm& gemm) = 0;

  /// y[rows, cols] = x + bias[cols], and `addend` [rows, cols] plus that where there is one. y may be x.
  virtual void bias_add(DType dtype, int64_t rows, int64_t cols, const void* x, const void* bias, void* y,
                        const void* addend = nullptr) = 0;
  /// db[cols] = sum over rows of dy[rows, cols]; db is wide
  virtual void bias_grad(DType dtype, int64_t rows, int64_t cols, const void* dy, void* db,
                         bool accumulate = false) = 0;

  /// y = GeLU(x), tanh or erf form, over count elements. An element's result never depends on its position.
  virtual void gelu(DType dtype, GeluForm form, int64_t count, const void* x, void* y) = 0;
  /// dx = dy * GeLU'(x), and what `sums` asks for of dx. dx may be dy.
  virtual void gelu_grad(DType dtype, GeluForm form, int64_t count, const void* x, const void* dy, void* dx,
                         const BiasSums& sums = {}) = 0;

  /// y = gamma * (x - mean) / sqrt(var + epsilon) + beta per row; stats[rows, 2] = mean, 1/sqrt(var +
  /// epsilon), wide.
  virtual void layer_norm(DType dtype, int64_t rows, int64_t cols, double epsilon, const void* x,
                          const void* gamma, const void* beta, void* y, void* stats,
                          const SumBefore& sum = {}) = 0;
  /// dx[rows, cols], plus `addend` where there is one, each rounded as if it had been stored; dgamma[cols]
  /// and dbeta[cols], wide
  virtual void layer_norm_grad(DType dtype, int64_t rows, int64_t cols, const void* x, const void* gamma,
                               const void* stats, const void* dy, void* dx, void* dgamma, void* dbeta,
                               bool accumulate = false, const void* addend = nullptr) = 0;

  /// The parts of a LayerNorm over cut rows. sums[rows, 2] = Σx, Σx² over x's columns;
  virtual void layer_norm_sums(const CutNorm& norm, const void* x, void* sums) = 0;
  /// y from the sums over whole rows;
  virtual void layer_norm_apply(const CutNorm& norm, const void* x, const void* gamma, const void* beta,
                                const void* sums, void* y) = 0;
  /// dsums[rows, 2] = Σg, Σg·x̂ over x's columns, with g = gamma·dy and x̂ = (x - mean)/σ; dgamma and dbeta of
  /// them;
  virtual void layer_norm_grad_sums(const CutNorm& norm, const void* x, const void* gamma, const void* sums,
                                    const void* dy, void* dsums, void* dgamma, void* dbeta,
                                    bool accumulate) = 0;
  /// dx from both sums over whole rows.
  virtual void layer_norm_grad_apply(const CutNorm& norm, const void* x, const void* gamma, const void* sums,
                                     const void* dy, const void* dsums, void* dx) = 0;

  /// P = softmax(Q·Kᵀ/sqrt(head_dim) + mask), C = (P∘dropout)·V. Masked entries of P are 0. `saved` is P
  /// before dropout or, with `recompute`, what a row of P is computed from again, [batch*seq, heads, 2] =
  /// largest scaled score, 1/Σ exp. `workspace` holds attention_workspace_elements() elements; it may be null
  /// when P is kept, there is no dropout and the dtype is not a 16-bit one.
  virtual void attention(const AttentionShape& shape, const void* qkv, void* saved, void* context,
                         void* workspace) = 0;
  /// dQKV from dC: the same bits whether P was kept or not.
  virtual void attention_grad(const AttentionShape& shape, const void* qkv, const void* saved,
                              const void* context, const void* dcontext, void* dqkv, void* workspace) = 0;

  /// keys and values at the new tokens' positions = K and V of QKV.
  virtual void cache_append(const CacheShape& shape, const void* qkv, void* keys, void* values) = 0;
  /// P = softmax(Q·Kᵀ/sqrt(head_dim)) over the cache up to each token's own position and 0 beyond, C = P·V.
  /// `workspace` holds attention_workspace_elements() elements for a sequence of `room`; null unless the
  /// dtype is a 16-bit one.
  virtual void cached_attention(const CacheShape& shape, const void* qkv, const void* keys,
                                const void* values, void* probs, void* context, void* workspace) = 0;

  /// y = a + b. y may be a or b.
  virtual void add(DType dtype, int64_t count, const void* a, const void* b, void* y) = 0;
  /// y = clamp(nearest integer of x, -limit, limit); ties to even.
  virtual void round(DType dtype, int64_t count, int limit, const void* x, void* y) = 0;

  /// Copies the range `range` of the sliced dimension out of a full tensor into a shard.
  virtual void slice(DType dtype, const Slicing& slicing, Range range, const void* full, void* shard) = 0;

  /// y[tokens, width] = table[id - rows.begin] where rows holds the id, else 0. `table` holds rows.size()
  /// rows.
  virtual void embedding(DType dtype, int64_t tokens, int64_t width, Range rows, const int32_t* ids,
                         const void* table, void* y) = 0;
  /// dtable[rows.size(), width] = sums of dy's rows by id, in the order of the tokens, wide; tokens with the
  /// id `no_gradient_id` are left out.
  virtual void embedding_grad(DType dtype, int64_t tokens, int64_t width, Range rows, const int32_t* ids,
                              const void* dy, void* dtable, bool accumulate, int64_t no_gradient_id = -1) = 0;
  /// y[batch, width] = x[b * seq]; and dx [batch*seq, width] = dy at the first tokens, 0 elsewhere.
  virtual void first_token(DType dtype, int64_t batch, int64_t seq, int64_t width, const void* x,
                           void* y) = 0;
  virtual void first_token_grad(DType dtype, int64_t batch, int64_t seq, int64_t width, const void* dy,
                                void* dx) = 0;
  virtual void tanh(DType dtype, int64_t count, const void* x, void* y) = 0;
  /// dx = dy (1 - y²)
  virtual void tanh_grad(DType dtype, int64_t count, const void* y, const void* dy, void* dx) = 0;
  /// y = x ∘ mask / (1 - p) for the elements at `place` of the full tensor.
  virtual void dropout(DType dtype, const DropoutMask& mask, const RowRuns& place, const void* x,
                       void* y) = 0;

  /// Per token of a VocabShard, in fp32 or fp64 (that of fp64 logits): the largest logit; the label's logit
  /// or 0 where another rank owns it or the label is negative; Σ exp(logit - max).
  virtual void vocab_max(const VocabShard& shard, const void* logits, void* max) = 0;
  virtual void target_logit(const VocabShard& shard, const void* logits, const int32_t* labels,
                            void* target) = 0;
  virtual void sum_exp(const VocabShard& shard, const void* logits, const void* max, void* sum) = 0;
  /// loss[1] = Σ weight (max + log sum - target); dtype is that of all five.
  virtual void cross_entropy(DType dtype, int64_t tokens, const void* max, const void* target,
                             const void* sum, const void* weights, void* loss) = 0;
  /// dlogits = weight·scale·(exp(logit - max)/sum - [column is the label]); 0 in the padding. `scale` may be
  /// null. dlogits may be logits.
  virtual void cross_entropy_grad(const VocabShard& shard, const void* logits, const int32_t* labels,
                                  const void* max, const void* sum, const void* weights, const void* scale,
                                  void* dlogits) = 0;

  /// *total = Σ x² over all elements of all of `tensors`, which are of `dtype`; 0 of none. The order in which
  /// they are added follows from the list alone.
  virtual void square_sum(DType dtype, std::span<const ListedTensor> tensors, double* total) = 0;
  /// factor[0] = min(1, clip / (norm + 1e-6)) / scale with norm = √Σ sums / scale, factor[1] = norm. No
  /// clipping with clip = 0. factor[0] is 0 when the norm is not finite. `scale`, of dtype, may be null.
  /// `sums` is a list in host memory of `count` numbers in the device's.
  virtual void clip_factor(int count, const double* const* sums, double clip, DType dtype, const void* scale,
                           double* factor) = 0;
  /// m = β1 m + (1-β1) g, v = β2 v + (1-β2) g², p = p(1 - lr·decay) - lr·m̂/(√v̂ + ε), with g =
  /// factor·gradient, for each of `steps`: the same bits whether they are asked for together or one by one.
  /// None writes what another reads or writes.
  virtual void adamw(std::span<const AdamWStep> steps) = 0;
};

/// Wide elements of scratch attention and its gradient need per rank, whatever the rank's number of heads and
/// threads: blocks of query rows times the sequence for each of the threads that may share it and, for a
/// 16-bit dtype, a head's matrices in fp32. Planned like every other buffer.
int64_t attention_workspace_elements(DType dtype, int64_t seq, int64_t head_dim);

/// A CPU device that computes with `threads` threads. One lives in each rank's thread and is used from it
/// alone.
std::unique_ptr<Device> make_cpu_device(int threads);

/// Cores this process may run on.
int available_cores();

}  // namespace shardlens
