// The operations that a step can be. Each has one row in a table (operation.cpp): its name, its kind, its
// operands by name, and the note that the Stage shows. All code reads these facts from the row. The
// README lists what else a new operation needs.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "engine/program/layout.h"

namespace shardlens {

struct Program;
struct Step;
using TensorId = int;
inline constexpr TensorId kNoTensor = -1;

/// The row of each in the table lists its operands, also those that may be missing.
enum class Op {
  Linear,              ///< Y = X·W + b; or Y = GeLU(H) and H = X·W + b
  LinearGradInput,     ///< dX = dY·Wᵀ; or dX = dY·Wᵀ ∘ GeLU'(H), and db = sum of dX over tokens
  LinearGradWeight,    ///< dW = Xᵀ·dY; also db, if fused with BiasGrad
  BiasAdd,             ///< Y = X + b, after a reduction; or Y = addend + (X + b)
  BiasGrad,            ///< db = sum of dY over tokens
  Gelu,                ///< Y = GeLU(H)
  GeluGrad,            ///< dX = dY ∘ GeLU'(H), and db = sum of dX over tokens
  LayerNorm,           ///< Y from X, or from sum = X + (addend + b); stats [tokens, 2] = mean, 1/std
  LayerNormGrad,       ///< dX, or addend + dX; dgamma, dbeta
  LayerNormSums,       ///< sums [tokens, 2T]: Σx, Σ(x - m)² over each rank's slice of hidden, m its mean
  LayerNormApply,      ///< Y and stats, from the sums of all ranks
  LayerNormGradSums,   ///< dsums [tokens, 2] = Σg, Σg·x̂ with g = gamma·dY; dgamma, dbeta
  LayerNormGradApply,  ///< dX, from stats and the dsums over the whole of hidden
  Attention,           ///< C = P·V with P = softmax(Q·Kᵀ/√d + mask); saved = P or row statistics
  AttentionGrad,       ///< dQKV; with grouped queries dQ and dKV
  CacheAppend,         ///< K, V with the new tokens' rows written at their positions
  CachedAttention,     ///< C and P: a new token sees the cache up to itself
  Add,                 ///< Y = X + addend
  Embedding,           ///< rows of the table; zeros for rows another rank owns
  EmbeddingGrad,       ///< dTable: rows of dY added up by id
  FirstToken,          ///< X [tokens, hidden] -> Y [batch, hidden], each sequence's first token
  FirstTokenGrad,      ///< dY [batch, hidden] -> dX, zero except at the first tokens
  Tanh,                ///< Y = tanh X
  TanhGrad,            ///< dX = dY (1 - Y²)
  Dropout,             ///< Y = X ∘ mask / (1 - p); its own gradient. The mask is drawn by global element
  VocabMax,            ///< largest logit of each token, over this rank's vocabulary
  TargetLogit,         ///< the label's logit; zero where another rank owns it
  SumExp,              ///< Σ exp(logit - max), over this rank's vocabulary
  CrossEntropy,        ///< loss [1] = Σ w (max + log sum - target)
  CrossEntropyGrad,    ///< dlogits, local
  SquareSum,           ///< [1], the sum of the squares of all elements of its terms
  ClipFactor,          ///< [2]: what gradients are multiplied by, and their global norm
  AdamW,               ///< the parameter, both moments and the master copy updated in place
  Round,               ///< nearest integer, clamped to ±Attributes::round_limit; with integer operands only
  Identity,            ///< a conjugate operator that does nothing: f in forward, g in backward
  Slice,               ///< Replicated -> Sharded, local
  AllReduce,           ///< Partial -> Replicated, each of its terms; usually in place
  ReduceScatter,       ///< Partial -> Sharded
  AllGather,           ///< Sharded -> Replicated
  AllToAll,            ///< Sharded(i) -> Sharded(j)
  Join,                ///< rows, rows, ... -> the tensor that these rows form; nothing moves
};

/// What a step spends its time on. Steps of kind Product or Attention have FLOPs; all others only read and
/// write bytes.
enum class OpKind {
  Product,      ///< one matrix product with a weight
  Attention,    ///< products of activations with each other
  ElementWise,  ///< reads and writes its tensors once: sums, norms, losses, the optimizer
  RowCopy,      ///< reads and writes some rows of a table or cache
  Conversion,   ///< from one layout to another, or the identity where they are equal
  Alias,        ///< gives the bytes of its inputs another name
};

/// The pass that an operation belongs to. A Forward operation in the backward phase recomputes a result that
/// was not kept.
enum class OpPass { Forward, Backward, Any };

/// The names of operands. A name has the same meaning in every operation, for inputs and outputs.
enum class Operand {
  None,
  X,  ///< the input
  Y,  ///< the result
  Dx,
  Dy,
  Addend,  ///< added to the result, or before the operation
  Weight,
  WeightGrad,
  Bias,
  BiasGrad,
  GeluInput,  ///< H
  Gamma,
  Beta,
  GammaGrad,
  BetaGrad,
  Stats,     ///< mean and 1/std of each token
  Sum,       ///< the sum before a norm
  Sums,      ///< two numbers per token from each rank
  GradSums,  ///< two numbers per token, for the gradient
  Q,         ///< QKV; with grouped queries Q alone
  Kv,        ///< with grouped queries
  QGrad,
  KvGrad,
  NewKv,  ///< QKV, or with grouped queries KV, of the new tokens
  Mask,
  Saved,  ///< P, or the row statistics from which P is recomputed
  Context,
  ContextGrad,
  Workspace,
  Positions,
  Keys,
  Values,
  Ids,
  Table,
  TableGrad,
  Logits,
  LogitsGrad,
  Labels,
  Max,
  Target,
  SumExp,
  TokenWeights,
  Loss,
  LossScale,
  Terms,  ///< a list of tensors; the last term of ClipFactor may be the loss scale
  Parameter,
  Gradient,
  FirstMoment,
  SecondMoment,
  Factor,
  Master,    ///< the fp32 copy of a 16-bit parameter
  Previous,  ///< the value that a gradient is added to, in the gradient's own bytes
};

/// When a step has an operand.
enum class Presence {
  Always,
  Optional,     ///< if the step has enough tensors; later operands exist only if it does
  Grouped,      ///< if the model has grouped queries
  Accumulated,  ///< if Attributes::accumulate
  Repeated,     ///< one or more; the last of the list
};

struct OperandSlot {
  Operand operand = Operand::None;
  Presence presence = Presence::Always;
};

inline constexpr size_t kMostOperands = 7;

/// The note of an operation: a fixed text, or a function that makes the text from the step.
struct OperationNote {
  using Rule = std::string (*)(const Program&, const Step&);
  constexpr OperationNote(const char* words) : text(words) {}
  constexpr OperationNote(Rule made_from) : rule(made_from) {}
  const char* text = nullptr;
  Rule rule = nullptr;
};

/// One row of the table.
struct Operation {
  Op op;
  const char* name;  ///< "linear-grad-input": the word in files and on screen
  OpKind kind;
  OpPass pass;
  Collective collective;               ///< None for the identity and for all that are no conversions
  bool by_batch;                       ///< true if it reads Attributes::batch
  OperandSlot inputs[kMostOperands];   ///< in the order of Step::inputs
  OperandSlot outputs[kMostOperands];  ///< in the order of Step::outputs
  OperationNote note;
};

/// Returns the row of `op`. Throws std::logic_error if the table has none.
const Operation& operation(Op op);
/// Returns all rows, in the order of Op.
std::span<const Operation> operations();

std::string to_string(Op op);
/// Returns the operation of that name. Throws a request Error if there is none.
Op parse_op(const std::string& name);
/// Returns "all-reduce", or "all-reduce, overlapped" for a step that runs while later steps go on.
std::string op_name(Op op, bool overlapped);

/// Returns the conversion of an operation: Slice, AllReduce and so on; None for the identity and for
/// operations that compute.
Collective collective_of(Op op);
/// Returns the operation of a conversion; Identity for Collective::None.
Op op_of(Collective collective);
/// True for operations in which ranks exchange data: AllReduce, ReduceScatter, AllGather, AllToAll.
bool is_collective(Op op);
/// True for operations that convert a tensor from one layout to another: the collectives, Slice and Identity.
bool is_conversion(Op op);

/// True for a step of the forward pass that runs again in the backward phase, because its result was not
/// kept. False for operations that belong to any pass, such as Add: they look the same in both.
bool is_recomputed(const Step& step);

/// Returns the index of an operand in Step::inputs or Step::outputs; nullopt if the step has no such operand.
std::optional<size_t> input_place(const Program& program, const Step& step, Operand operand);
std::optional<size_t> output_place(const Program& program, const Step& step, Operand operand);
/// Returns the tensor of an operand; kNoTensor if the step has no such operand.
TensorId input_of(const Program& program, const Step& step, Operand operand);
TensorId output_of(const Program& program, const Step& step, Operand operand);
/// Return the number of tensors that the step must read, or write, at least.
size_t least_inputs(const Program& program, const Step& step);
size_t least_outputs(const Program& program, const Step& step);

/// The two factors of a step of kind Product. Its result is A·B; a factor that is `turned` is transposed
/// before.
struct Factors {
  Operand a = Operand::None, b = Operand::None;
  bool a_turned = false, b_turned = false;
};
Factors factors_of(const Step& step);

/// Says how the weight of a product is cut, as it is multiplied: "column-parallel", "row-parallel",
/// "vocabulary-parallel" or "replicated". Empty if the step has no weight.
std::string weight_cut(const Program& program, const Step& step);

/// A note that says the most important fact about a step: "column-parallel", "local: whole heads", "counted
/// once". Empty if the step has no outputs.
inline constexpr const char* kSameNote = "same on every rank";
std::string note_of(const Program& program, const Step& step);

}  // namespace shardlens
