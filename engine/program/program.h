// The Program: a list of Steps over named Tensors for one rank of a group of T. It is plain data, the same
// for all ranks (SPMD), and the one idea of the house: the executor runs it, the cost model counts it, the
// studio draws it, the recorder logs it. Nothing is run, drawn or counted that is not in it.
#pragma once

#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/program/layout.h"
#include "engine/program/operation.h"

namespace shardlens {

using StepId = int;

// Each enum has its words in one table (program.cpp). parse_... throws a request Error that lists them.

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
std::string to_string(MemoryKind kind);  ///< "weight gradients"
MemoryKind parse_memory_kind(const std::string& text);

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

enum class Phase { Forward, Backward, Update };
std::string to_string(Phase phase);  ///< "forward", "backward", "update"
Phase parse_phase(const std::string& text);

/// The group a collective runs in: the T ranks that share a layer, or the D replicas of one of them (paper,
/// Figure 8).
enum class Axis { Tp, Dp };
std::string to_string(Axis axis);  ///< "tp", "dp"
Axis parse_axis(const std::string& text);

/// The paper's conjugate operators (section 3): f is the identity forward and an all-reduce backward, g the
/// reverse. Both of a pair's steps carry the mark, also where they are the identity.
enum class Conjugate { None, F, G };
std::string to_string(Conjugate conjugate);  ///< "none", "f", "g"
Conjugate parse_conjugate(const std::string& text);

/// Whose draws a rank's dropout mask is made of. By element is right: masks then do not depend on T. The
/// other two are classic mistakes, planted on purpose.
enum class MaskDraw {
  ByElement,   ///< of the element's place in the full tensor
  OneStream,   ///< of a slice: as if it were rank 0's, so that all slices lose the same elements
  OwnStreams,  ///< of a whole tensor: each rank has a stream of its own, so that the copies differ
};
std::string to_string(MaskDraw draw);  ///< "by-element", "one-stream", "own-streams"
MaskDraw parse_mask_draw(const std::string& text);

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
