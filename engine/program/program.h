// The Program: a list of Steps over named Tensors for one rank of a group of T. It is plain data, the same
// for all ranks (SPMD), and the one idea of the house: the executor runs it, the cost model counts it, the
// studio draws it, the recorder logs it. Nothing is run, drawn or counted that is not in it.
#pragma once

#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/program/layout.h"

namespace shardlens {

using TensorId = int;
using StepId = int;
inline constexpr TensorId kNoTensor = -1;

/// What a tensor's bytes are spent on; memory is planned and measured by these kinds.
enum class MemoryKind {
  Input,
  Weight,
  WeightGradient,
  OptimizerState,  ///< moments and, in half precision, the fp32 master weights
  KeyValueCache,   ///< of generation: keys and values of the tokens so far, there from pass to pass
  Activation,
  ActivationGradient,
  Workspace
};
inline constexpr int kMemoryKinds = 8;
std::string to_string(MemoryKind kind);

struct Tensor {
  TensorId id = kNoTensor;
  std::string
      name;  ///< unique in the Program: "mlp.proj.out" or, before its reduction, "mlp.proj.out@partial"
  std::string
      value;  ///< the mathematical value it holds, the same word whatever T and split: parity compares these
  std::string symbol;  ///< the letter the equations use: "H", "dH", "Wfc"
  Shape shape;         ///< global, as if there were one rank
  int row_dims = 1;    ///< the leading dimensions that are rows when the tensor is seen as a matrix
  DType dtype = DType::Fp32;
  Layout layout;
  MemoryKind kind = MemoryKind::Activation;
  TensorId storage =
      kNoTensor;          ///< the tensor whose bytes it shares (identity, in-place collective), or kNoTensor
  int64_t first_row = 0;  ///< of a tensor that is some rows of its storage: where along its first dimension
  bool keep = false;      ///< held to the end of the run though nothing reads it: the layer's results

  int64_t bytes() const { return element_count(shape) * element_bytes(dtype); }  ///< of the full tensor
  bool operator==(const Tensor&) const = default;
};

enum class Op {
  Linear,            ///< (X, W[, b]) -> Y = X·W + b; or G = GeLU(H), H with H = X·W + b
  LinearGradInput,   ///< (dY, W) -> dX = dY·Wᵀ; (dY, W, H) -> dH = dY·Wᵀ ∘ GeLU'(H)[, db]
  LinearGradWeight,  ///< (X, dY) -> dW = Xᵀ·dY
  BiasAdd,           ///< (Z, b[, X]) -> Y = [X +] (Z + b), after a reduction
  BiasGrad,          ///< (dY) -> db = sum of dY over tokens
  Gelu,              ///< (H) -> G
  GeluGrad,          ///< (H, dG) -> dH[, db = sum of dH over tokens]
  LayerNorm,         ///< (X, gamma, beta[, A[, b]]) -> Y, stats [tokens, 2] = mean, 1/std[, X + (A + b)]
  LayerNormGrad,     ///< (X, gamma, stats, dY[, dX of others]) -> dX, dgamma, dbeta
  LayerNormSums,     ///< (X) -> [tokens, 2] = Σx, Σx² over this rank's slice of hidden
  LayerNormApply,    ///< (X, gamma, beta, sums) -> Y, from the sums over the whole of hidden
  LayerNormGradSums,  ///< (X, gamma, sums, dY) -> [tokens, 2] = Σg, Σg·x̂ with g = gamma·dY; dgamma, dbeta
  LayerNormGradApply,  ///< (X, gamma, sums, dY, gradient sums) -> dX
  // Of grouped queries, Q and KV take the place of QKV: KV stands behind Q, dKV behind dQ.
  Attention,  ///< (QKV[, mask]) -> C, P  with P = softmax(Q·Kᵀ/√d + mask), C = P·V; or C, row statistics
  AttentionGrad,     ///< (QKV, P or row statistics, C, dC[, mask]) -> dQKV, workspace
  CacheAppend,       ///< (QKV or KV, positions, K, V) -> K, V: the new tokens' rows put in, at positions
  CachedAttention,   ///< (QKV or Q, positions, K, V) -> C, P: a new token sees the cache up to itself
  Add,               ///< (A, B) -> A + B
  Embedding,         ///< (ids, table) -> rows of the table; zeros for rows another rank owns
  EmbeddingGrad,     ///< (ids, dY) -> dTable: rows of dY added up by id
  FirstToken,        ///< (X [tokens, hidden]) -> [batch, hidden], each sequence's first token
  FirstTokenGrad,    ///< (dY [batch, hidden]) -> dX, zero but for the first tokens
  Tanh,              ///< (X) -> tanh X
  TanhGrad,          ///< (Y, dY) -> dX = dY (1 - Y²)
  Dropout,           ///< (X) -> X ∘ mask / (1 - p); its own gradient. The mask is drawn by global element
  VocabMax,          ///< (logits) -> largest logit of each token, over this rank's vocabulary
  TargetLogit,       ///< (logits, labels) -> the label's logit; zero where another rank owns it
  SumExp,            ///< (logits, max) -> Σ exp(logit - max), over this rank's vocabulary
  CrossEntropy,      ///< (max, target, sum, token weights) -> loss [1] = Σ w (max + log sum - target)
  CrossEntropyGrad,  ///< (logits, labels, max, sum, token weights[, loss scale]) -> dlogits, local
  SquareSum,         ///< (tensors...) -> [1] sum of the squares of all their elements
  ClipFactor,        ///< (square sums...) -> [2]: what gradients are multiplied by, and their global norm
  AdamW,      ///< (w, dw, m, v, factor[, master]) -> w updated in place; m, v and master are updated with it
  Round,      ///< (X) -> nearest integer, clamped to ±Attributes::round_limit; only with integer operands
  Identity,   ///< a conjugate operator where it does nothing: f forward, g backward
  Slice,      ///< Replicated -> Sharded, local
  AllReduce,  ///< Partial -> Replicated, in place
  ReduceScatter,  ///< Partial -> Sharded
  AllGather,      ///< Sharded -> Replicated
  AllToAll,       ///< Sharded(i) -> Sharded(j)
  Join,           ///< (rows, rows, ...) -> the tensor they are rows of; nothing moves
};
std::string to_string(Op op);
/// "all-reduce", or "all-reduce, beside" of steps that go on beside the others.
std::string op_name(Op op, bool beside);

/// The conversion a step makes: Slice, AllReduce and so on; None for the identity and for everything that
/// computes.
Collective collective_of(Op op);

/// True for the steps at which ranks meet: AllReduce, ReduceScatter, AllGather, AllToAll.
bool is_collective(Op op);

enum class Phase { Forward, Backward, Update };
std::string to_string(Phase phase);  ///< "forward", "backward", "update"

/// The group a collective runs in: the T ranks that share a layer, or the D replicas of one of them (paper,
/// Figure 8).
enum class Axis { Tp, Dp };

/// The paper's conjugate operators (section 3): f is the identity forward and an all-reduce backward, g the
/// reverse. Both of a pair's steps carry the mark, also where they are the identity.
enum class Conjugate { None, F, G };

/// Whose draws a rank's dropout mask is made of. By element is right: masks then do not depend on T. The
/// other two are classic mistakes, planted on purpose.
enum class MaskDraw {
  ByElement,   ///< of the element's place in the full tensor
  OneStream,   ///< of a slice: as if it were rank 0's, so that all slices lose the same elements
  OwnStreams,  ///< of a whole tensor: each rank has a stream of its own, so that the copies differ
};
std::string to_string(MaskDraw draw);  ///< "by-element", "one-stream", "own-streams"

struct Attributes {
  bool causal = false;             ///< Attention, AttentionGrad
  int64_t batch = 0;               ///< Attention, CacheAppend, FirstToken and so on: tokens = batch * seq
  GeluForm gelu = GeluForm::Tanh;  ///< Gelu, GeluGrad, and products that are one with them
  double epsilon = 0;              ///< LayerNorm and its parts
  int round_limit = 0;             ///< Round
  bool transposed = false;         ///< Linear and its gradients: W is stored [out, in], as an embedding is
  int64_t no_gradient_id = -1;     ///< EmbeddingGrad: an id whose row gets none; -1: every id counts
  bool accumulate = false;         ///< a weight gradient: added to what its last inputs hold
  int64_t vocab = 0;               ///< VocabMax, SumExp, CrossEntropyGrad: columns from here on are padding
  double dropout = 0;              ///< Dropout, Attention and its gradient: probability of a zero
  std::string stream;              ///< the random stream a dropout mask is drawn from
  int part = 0;                    ///< with dropout: which part of the batch, so where in the stream
  MaskDraw mask_draw = MaskDraw::ByElement;  ///< with dropout
  bool own_columns = false;  ///< LayerNorm in parts: a row is what this rank holds of it; a planted mistake
  bool decay = false;        ///< AdamW: the parameter decays
  bool operator==(const Attributes&) const = default;
};

struct Step {
  StepId id = 0;
  Op op = Op::Identity;
  Phase phase = Phase::Forward;
  std::string name;   ///< "mlp.fc", "mlp.fc dX", "all-reduce mlp.proj.out"
  std::string block;  ///< "attention", "mlp", "norm", "residual": what a person would call the neighbourhood
  int layer = -1;     ///< of a whole model: the layer it belongs to; -1 for what stands outside the layers
  Axis axis = Axis::Tp;  ///< of a collective: the group it runs in
  bool beside = false;   ///< of a collective: the steps after it go on until one touches its tensors
  std::string equation;  ///< "H = U · Wfc + b", from the tensors' symbols
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;  ///< outputs[0] is the one the Stage draws
  Conjugate conjugate = Conjugate::None;
  StepId pair = -1;  ///< of a conjugate operator: the step that is its other half, in the other phase
  Attributes attributes;
  bool operator==(const Step&) const = default;
};

struct Program {
  Settings settings;  ///< what it was planned from; carried so that a recording explains itself
  std::vector<Tensor> tensors;
  std::vector<Step> steps;

  int ranks() const { return settings.tp; }  ///< that share a layer; every replica has as many
  int replicas() const { return settings.dp; }
  const Tensor& tensor(TensorId id) const { return tensors[static_cast<size_t>(id)]; }
  const Step& step(StepId id) const { return steps[static_cast<size_t>(id)]; }
  bool operator==(const Program&) const = default;
};

/// Numbers `steps` as they stand now, pairs too. Each carries the id it had so far, a new one -1; of several
/// made of one, the last is the half that its pair means.
void renumber(std::vector<Step>& steps);

/// The shape of `tensor` on one rank: the slice for Sharded, the whole otherwise.
Shape local_shape(const Tensor& tensor, int ranks, int rank);
int64_t local_bytes(const Tensor& tensor, int ranks, int rank);

/// True where `tensor` is some rows of its storage, not all of it.
bool is_row_view(const Program& program, const Tensor& tensor);

/// The step that writes `tensor` (of rows that no step writes by themselves: what they are rows of), or -1
/// for inputs and weights.
StepId producer_of(const Program& program, TensorId tensor);
/// The steps that read `tensor` or rows of it, in order.
std::vector<StepId> consumers_of(const Program& program, TensorId tensor);

/// Why a conversion step stands where it does, in one sentence made of its producer, its layouts and its
/// consumer.
std::string explain(const Program& program, StepId step);

/// True for an all-reduce among the ranks that hold the same slice, each a term of it.
bool is_among_copies(const Program& program, const Step& step);
/// The ranks that meet in a collective: the T of a layer, the D copies of one, or those that hold a slice.
int group_ranks(const Program& program, const Step& step);

/// What a conversion step converts, as it is said: the tensor's symbol, or "6 gradients" of a bucket.
std::string converted_words(const Program& program, const Step& step);
/// Bytes of all that, as rank `rank` and those it meets see it: whole tensors, or, where they hold the same
/// slices, that slice of each.
int64_t converted_bytes(const Program& program, const Step& step, int rank);

/// Bytes that the ranks `rank` (of its replica) meets in `step` send together, none left out: what their
/// communicators count. The ring's figure, which is the least possible. 0 for anything that is no collective.
int64_t group_sent_bytes(const Program& program, StepId step, int rank);
/// Bytes each rank sends in `step`: rank 0's group's, divided among its ranks.
int64_t sent_bytes(const Program& program, StepId step);

/// One rank's slice of a tensor, seen as a matrix of rows x cols: where a rectangle of the local matrix lies
/// in the full one. A Sharded QKV yields three (its Q, K and V columns), most tensors one.
struct Placement {
  Range rows, cols;              ///< in the full matrix
  Range local_rows, local_cols;  ///< in the rank's own matrix
};
struct MatrixShape {
  int64_t rows = 1;
  int64_t cols = 1;
};
MatrixShape matrix_shape(const Tensor& tensor);                                ///< of the full tensor
MatrixShape local_matrix_shape(const Tensor& tensor, int ranks, int rank);     ///< of one rank's slice
std::vector<Placement> placements(const Tensor& tensor, int ranks, int rank);  ///< in reading order

}  // namespace shardlens
