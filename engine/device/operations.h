// The arguments of the device's operations (device.h). An operation with many operands takes one struct that
// is named after it. The struct's comment gives the formula, the shapes and the dtypes.
//
// All tensors are contiguous and row-major. Every pointer points to the device's memory, also those to masks,
// positions and factors. A tensor has the dtype `dtype`, unless its comment gives another one. A "wide"
// tensor is fp64 if `dtype` is fp64, and fp32 otherwise. 16-bit elements are computed with in fp32. A result
// is rounded once, when it is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/config/settings.h"
#include "engine/program/few_tokens.h"
#include "engine/program/layout.h"

namespace shardlens {

/// The bias gradient that an operation computes from its result dx [rows, cols]: db = Σ dx over the rows. The
/// bits are those of bias_grad(), except where a gemm() computes it from its B.
struct BiasSums {
  int64_t cols = 0;
  void* db = nullptr;       ///< [cols], wide; null: no bias gradient
  bool accumulate = false;  ///< db += Σ dx
};

/// What happens to a product before it is stored. H is the product, plus the bias if there is one.
enum class AfterProduct {
  Nothing,  ///< C = H
  Gelu,     ///< C = GeLU(H), and H is stored too
  GeluGrad  ///< C = the product ∘ GeLU'(H), where H is an input
};

/// C[m, n] = op(A)·op(B), plus bias[n] on every row. op(A) is [m, k] and op(B) is [k, n], after the
/// transposition. lda, ldb and ldc are the row strides of the stored matrices, in elements.
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
  const void* bias = nullptr;  ///< null: none
  bool wide_result = false;    ///< C is fp32, although A and B have 16 bits
  bool accumulate = false;     ///< C = C + op(A)·op(B); not with a bias
  int64_t b_panel_cols = 0;  ///< B is stored in panels of this width (panels.h), not transposed; 0: row-major
  /// Other than Nothing only if C has the operands' dtype, is not accumulated, and ldc = n. A device computes
  /// either the bits of gemm() followed by gelu() or gelu_grad(), or one fused product that does not round
  /// what lies between the two.
  AfterProduct after = AfterProduct::Nothing;
  Activation form = Activation::GeluTanh;
  void* before = nullptr;  ///< H [m, n], with row stride n
  /// With GeluGrad: of C. With Nothing: of B, which is then a dY: not transposed, ldb = n, and C is wide and
  /// not accumulated. The rows of B may be added in another order than by bias_grad().
  BiasSums sums = {};
};

/// y = x + bias on every row, or y = addend + (x + bias). x, addend and y are [rows, cols], bias is [cols].
/// The inner sum is rounded. y may be x.
struct BiasAdd {
  DType dtype = DType::Fp32;
  int64_t rows = 0, cols = 0;
  const void* x = nullptr;
  const void* bias = nullptr;
  void* y = nullptr;
  const void* addend = nullptr;  ///< null: none
};

/// dx = dy ∘ GeLU'(x), over `count` elements. dx may be dy.
struct GeluGrad {
  DType dtype = DType::Fp32;
  Activation form = Activation::GeluTanh;
  int64_t count = 0;
  const void* x = nullptr;
  const void* dy = nullptr;
  void* dx = nullptr;
  BiasSums sums = {};
};

/// y = gamma ∘ x̂ + beta, with x̂ = (x - mean) / sqrt(variance + epsilon) for each row of x [rows, cols]. gamma
/// and beta are [cols].
///
/// With `a`, the rows that are normalised are sum = x + (a + bias) instead of x. Both sums are rounded.
struct LayerNorm {
  DType dtype = DType::Fp32;
  int64_t rows = 0, cols = 0;
  double epsilon = 0;
  const void* x = nullptr;
  const void* gamma = nullptr;
  const void* beta = nullptr;
  void* y = nullptr;
  void* stats = nullptr;       ///< written, [rows, 2], wide: a row's mean and 1 / sqrt(variance + epsilon)
  const void* a = nullptr;     ///< [rows, cols]; null: no sum
  const void* bias = nullptr;  ///< [cols]; null: none
  void* sum = nullptr;         ///< written, [rows, cols]
};

/// The gradient of LayerNorm. With g = gamma ∘ dy and means over a row:
/// dx = (g - mean(g) - x̂ ∘ mean(g ∘ x̂)) / sqrt(variance + epsilon). Over the rows: dgamma = Σ dy ∘ x̂ and
/// dbeta = Σ dy. x, dy and dx are [rows, cols], gamma is [cols]. dx may be dy.
struct LayerNormGrad {
  DType dtype = DType::Fp32;
  int64_t rows = 0, cols = 0;
  const void* x = nullptr;
  const void* gamma = nullptr;
  const void* stats = nullptr;  ///< as layer_norm() left them
  const void* dy = nullptr;
  void* dx = nullptr;
  void* dgamma = nullptr;        ///< [cols], wide
  void* dbeta = nullptr;         ///< [cols], wide
  bool accumulate = false;       ///< adds to dgamma and dbeta
  const void* addend = nullptr;  ///< [rows, cols], added to the rounded dx; null: none
};

/// LayerNorm of rows that are cut across the ranks. This rank has x [rows, cols]. A whole row has `hidden`
/// columns.
struct CutNorm {
  DType dtype = DType::Fp32;
  int64_t rows = 0, cols = 0, hidden = 0;
};

/// y = gamma ∘ x̂ + beta, with mean and variance from the sums of all ranks, which layer_norm_sums() left on
/// each. x and y are [rows, cols], gamma and beta are [cols].
struct LayerNormApply {
  CutNorm norm;
  double epsilon = 0;
  int64_t ranks = 1;         ///< shard_range() cuts the groups of columns among so many ranks
  int64_t column_group = 1;  ///< columns that are never cut apart; divides `hidden`
  const void* x = nullptr;
  const void* gamma = nullptr;
  const void* beta = nullptr;
  const void* sums = nullptr;  ///< [rows, ranks, 2], wide
  void* y = nullptr;
  void* stats =
      nullptr;  ///< written, [rows, 2], wide: mean and 1 / sqrt(variance + epsilon) of the whole row
};

/// dsums = Σg and Σ g ∘ x̂ over the rank's columns of each row, with g = gamma ∘ dy. Over the rows:
/// dgamma = Σ dy ∘ x̂ and dbeta = Σ dy. x and dy are [rows, cols], gamma is [cols].
struct LayerNormGradSums {
  CutNorm norm;
  const void* x = nullptr;
  const void* gamma = nullptr;
  const void* stats = nullptr;  ///< as layer_norm_apply() left them
  const void* dy = nullptr;
  void* dsums = nullptr;    ///< [rows, 2], wide
  void* dgamma = nullptr;   ///< [cols], wide
  void* dbeta = nullptr;    ///< [cols], wide
  bool accumulate = false;  ///< adds to dgamma and dbeta
};

/// dx from `stats` and `dsums` of whole rows, as LayerNormGrad has it. x, dy and dx are [rows, cols], gamma
/// is [cols].
struct LayerNormGradApply {
  CutNorm norm;
  const void* x = nullptr;
  const void* gamma = nullptr;
  const void* stats = nullptr;  ///< as layer_norm_apply() left them
  const void* dy = nullptr;
  const void* dsums = nullptr;
  void* dx = nullptr;
};

/// A dropout mask. Element i of the full tensor is dropped if the i-th draw of the stream is below
/// `probability`. Elements that stay are scaled by 1 / (1 - probability).
struct DropoutMask {
  double probability = 0;
  uint64_t seed = 0;
  uint64_t stream = 0;  ///< from the tensor's name and the iteration
};

/// The place of [rows, run] elements in a full tensor: row i begins at element first + i * stride.
struct RowRuns {
  int64_t first = 0, rows = 0, run = 0, stride = 0;
};

/// Grouped queries: several query heads share a key head. The rank's query head i reads the rank's key head
/// (first + i) / group.
struct KeyHeads {
  int64_t heads = 0;  ///< the rank's key heads; may be 0
  int64_t group = 1;  ///< query heads for each key head
  int64_t first = 0;  ///< the rank's first query head, counted from the first reader of its first key head
};

/// P = softmax(Q·Kᵀ / sqrt(head_dim) + mask), C = (P ∘ dropout)·V, for the rank's heads. Masked elements of P
/// are 0. P is [batch*seq, heads, seq].
struct Attention {
  DType dtype = DType::Fp32;
  int64_t batch = 0, seq = 0;
  int64_t heads = 0;  ///< the rank's query heads; may be 0
  int64_t head_dim = 0;
  bool causal = false;
  bool recompute = false;         ///< the backward pass computes P again; P is not stored
  const int32_t* mask = nullptr;  ///< [batch*seq], 0 at keys that no query may see; null: no mask
  DropoutMask dropout = {};       ///< of P, by the element's index in the P of all heads and the whole batch
  /// For dropout: heads on all ranks, the rank's first one among them, and its first token in the whole
  /// batch.
  int64_t all_heads = 0, first_head = 0, first_token = 0;
  KeyHeads keys = {};  ///< only with `kv`

  const void* qkv = nullptr;  ///< [batch*seq, 3, heads, head_dim]; with `kv`: Q, [batch*seq, heads, head_dim]
  const void* kv = nullptr;   ///< grouped queries: K and V, [batch*seq, 2, keys.heads, head_dim]; null: not
  /// Written: P before dropout, or with `recompute` [batch*seq, heads, 2], wide: a row's largest scaled score
  /// and 1 / Σ exp.
  void* saved = nullptr;
  void* context = nullptr;  ///< C, written, [batch*seq, heads, head_dim]
  /// attention_workspace_elements() elements. May be null if P is stored, there is no dropout, and the dtype
  /// has more than 16 bits.
  void* workspace = nullptr;
};

/// The gradient of Attention: dQ, dK and dV from dC. The bits do not depend on `forward.recompute`.
struct AttentionGrad {
  Attention forward;               ///< reads its tensors as attention() left them; needs its workspace
  const void* dcontext = nullptr;  ///< dC, [batch*seq, heads, head_dim]
  void* dqkv = nullptr;            ///< as `qkv`
  void* dkv = nullptr;             ///< as `kv`
};

/// New tokens and the cache of their sequences' keys and values, for the rank's heads.
struct CacheShape {
  DType dtype = DType::Fp32;
  int64_t batch = 0;
  int64_t seq = 0;    ///< new tokens of each sequence
  int64_t room = 0;   ///< tokens of a sequence for which the cache has room
  int64_t heads = 0;  ///< the rank's query heads; may be 0
  int64_t head_dim = 0;
  /// [batch*seq]: each new token's position in its sequence. Within a sequence they are consecutive and below
  /// `room`.
  const int32_t* positions = nullptr;
  bool grouped = false;  ///< grouped queries
  KeyHeads keys = {};    ///< only if `grouped`

  /// The position of a sequence's first new token. Reads `positions` on the host. Throws a request Error if
  /// they are not consecutive or not below `room`.
  int64_t first_position(int64_t sequence) const;
};

/// Copies K and V of the new tokens into the cache, at the tokens' positions. keys and values are
/// [batch*room, heads, head_dim], or [batch*room, shape.keys.heads, head_dim] if grouped.
struct CacheAppend {
  CacheShape shape;
  /// [batch*seq, 3, heads, head_dim]; if grouped: K and V, [batch*seq, 2, shape.keys.heads, head_dim]
  const void* qkv = nullptr;
  void* keys = nullptr;
  void* values = nullptr;
};

/// P = softmax(Q·Kᵀ / sqrt(head_dim)), C = P·V, for the new tokens. K and V are the cache's rows up to the
/// token's own position. P is 0 beyond. keys and values are as in CacheAppend.
struct CachedAttention {
  CacheShape shape;
  const void* qkv =
      nullptr;  ///< [batch*seq, 3, heads, head_dim]; if grouped: Q, [batch*seq, heads, head_dim]
  const void* keys = nullptr;
  const void* values = nullptr;
  void* probs = nullptr;    ///< P, written, [batch*seq, heads, room]
  void* context = nullptr;  ///< C, written, [batch*seq, heads, head_dim]
  void* workspace =
      nullptr;  ///< attention_workspace_elements() for `room`; null unless the dtype has 16 bits
};

/// A product of at most kFewTokens rows, and the steps around it. The results are those of the parts.
struct TokenProduct {
  Gemm product;
  std::optional<LayerNorm> norm = {};  ///< before the product, whose A is its y
  std::optional<BiasAdd> sum = {};     ///< after the product, whose C is its x
};

/// A cache's new rows, and attention to the cache with them: both for the same new tokens.
struct TokenAttention {
  CacheAppend append;
  CachedAttention attention;
};

/// y = table[id - rows.begin] for each token whose id is in `rows`, and 0 for the others. y is [tokens,
/// width], table is [rows.size(), width], ids are [tokens].
struct Embedding {
  DType dtype = DType::Fp32;
  int64_t tokens = 0, width = 0;
  Range rows = {};  ///< the rank's rows of the table
  const int32_t* ids = nullptr;
  const void* table = nullptr;
  void* y = nullptr;
};

/// dtable[id - rows.begin] = Σ dy over the tokens with that id, added in the order of the tokens. dy is
/// [tokens, width], ids are [tokens].
struct EmbeddingGrad {
  DType dtype = DType::Fp32;
  int64_t tokens = 0, width = 0;
  Range rows = {};  ///< the rank's rows of the table
  const int32_t* ids = nullptr;
  const void* dy = nullptr;
  void* dtable = nullptr;       ///< [rows.size(), width], wide
  bool accumulate = false;      ///< adds to dtable
  int64_t no_gradient_id = -1;  ///< tokens with this id are left out
};

/// dx = dy ∘ (1 - y²), where y = tanh(x), over `count` elements.
struct TanhGrad {
  DType dtype = DType::Fp32;
  int64_t count = 0;
  const void* y = nullptr;
  const void* dy = nullptr;
  void* dx = nullptr;
};

/// The rank's columns of the vocabulary: logits [tokens, columns.size()]. Columns from `vocab` on are
/// padding, which does not count. Numbers for each token are wide: max, target, sum and weights, [tokens]
/// each.
struct VocabShard {
  DType dtype = DType::Fp32;
  int64_t tokens = 0;
  Range columns = {};
  int64_t vocab = 0;
};

/// sum = Σ exp(logit - max) over the rank's columns, for each token.
struct SumExp {
  VocabShard shard;
  const void* logits = nullptr;
  const void* max = nullptr;
  void* sum = nullptr;
};

/// loss[1] = Σ weight · (max + log(sum) - target) over the tokens. Tensors are [tokens]. `dtype` is fp32 or
/// fp64.
struct CrossEntropy {
  DType dtype = DType::Fp32;
  int64_t tokens = 0;
  const void* max = nullptr;
  const void* target = nullptr;
  const void* sum = nullptr;
  const void* weights = nullptr;
  void* loss = nullptr;
};

/// dlogits = weight · scale · (exp(logit - max) / sum - [the column is the label]), and 0 in the padding.
/// dlogits may be logits.
struct CrossEntropyGrad {
  VocabShard shard;
  const void* logits = nullptr;
  const int32_t* labels = nullptr;  ///< [tokens]
  const void* max = nullptr;
  const void* sum = nullptr;
  const void* weights = nullptr;
  const void* scale = nullptr;  ///< [1], wide; null: 1
  void* dlogits = nullptr;
};

/// One tensor of a list. If `count` is 0, `data` may be null.
struct ListedTensor {
  int64_t count = 0;
  const void* data = nullptr;
};

/// norm = √Σ sums / scale. factor[0] = min(1, clip / (norm + 1e-6)) / scale, or 1 / scale if clip = 0, or 0
/// if the norm is not finite. factor[1] = norm.
struct ClipFactor {
  std::span<const double* const> sums;  ///< a list in host memory of pointers to the device's memory
  double clip = 0;
  DType scale_dtype = DType::Fp32;  ///< fp32 or fp64
  const void* scale = nullptr;      ///< [1]; null: 1
  double* factor = nullptr;         ///< written, [2]
};

/// One AdamW step of one parameter's slice. With g = factor · gradient: m = β1 m + (1-β1) g,
/// v = β2 v + (1-β2) g², p = p(1 - lr·decay) - lr·m̂ / (√v̂ + ε).
struct AdamWStep {
  DType dtype = DType::Fp32;
  int64_t count = 0;               ///< may be 0
  void* parameter = nullptr;       ///< p, unless there is a master
  const void* gradient = nullptr;  ///< wide
  void* first_moment = nullptr;    ///< m, wide
  void* second_moment = nullptr;   ///< v, wide
  void* master = nullptr;          ///< p in fp32 if the parameter has 16 bits; null otherwise
  const double* factor = nullptr;  ///< [1]; if it is 0, the step is skipped
  double learning_rate = 0, weight_decay = 0, beta1 = 0, beta2 = 0, epsilon = 0;
  int64_t iteration = 1;  ///< from 1, for the bias corrections
};

}  // namespace shardlens
