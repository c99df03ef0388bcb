// The Program: a list of Steps over named Tensors for one rank of a group of T. It is plain data, the same
// for all ranks (SPMD), and the central idea of this repository: the executor runs it, the cost model counts
// it, the studio draws it, the recorder logs it. Everything that is run, drawn or counted is in the Program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/program/layout.h"
#include "engine/program/operation.h"
#include "engine/program/role.h"

namespace shardlens {

using StepId = int;

// Each enum has a table of its words (program.cpp). parse_...() throws a request Error that lists the words.

/// What a tensor's bytes are used for. Memory is planned and measured by these kinds.
enum class MemoryKind {
  Input,
  Weight,
  WeightGradient,
  OptimizerState,  ///< moments and, in half precision, the fp32 master weights
  KeyValueCache,   ///< in generation: keys and values of the tokens so far, kept between passes
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
      value;  ///< the name of its mathematical value, the same for every T and split; parity compares by it
  std::string symbol;  ///< the letter the equations use: "H", "dH", "Wfc"
  Role role = Role::None;
  int layer = -1;       ///< in a whole model: the layer it belongs to; -1: outside the layers
  int micro_batch = 0;  ///< the part of the batch it belongs to; 0 for parameters
  Shape shape;          ///< global: the full tensor's
  int row_dims = 1;     ///< as a matrix, this many leading dimensions form the rows
  DType dtype = DType::Fp32;
  Layout layout;
  MemoryKind kind = MemoryKind::Activation;
  TensorId storage =
      kNoTensor;          ///< the tensor whose bytes it shares (identity, in-place collective), or kNoTensor
  int64_t first_row = 0;  ///< if it is some rows of its storage: the first of these rows
  bool keep = false;      ///< kept to the end of the run, although no step reads it: the layer's results

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

/// The paper's conjugate operators (section 3): f is the identity in the forward pass and an all-reduce in
/// the backward pass, g the reverse. Both steps of a pair have the mark, also the one that is the identity.
enum class Conjugate { None, F, G };
std::string to_string(Conjugate conjugate);  ///< "none", "f", "g"
Conjugate parse_conjugate(const std::string& text);

/// How a rank draws a dropout mask. ByElement is right: the masks do not depend on T. The other two are
/// classic mistakes, planted on purpose.
enum class MaskDraw {
  ByElement,   ///< by the element's place in the full tensor
  OneStream,   ///< a slice uses the mask of rank 0's slice, so all slices lose the same elements
  OwnStreams,  ///< for a Replicated tensor each rank has its own stream, so the copies differ
};
std::string to_string(MaskDraw draw);  ///< "by-element", "one-stream", "own-streams"
MaskDraw parse_mask_draw(const std::string& text);

struct Attributes {
  bool causal = false;  ///< Attention, AttentionGrad
  int64_t batch = 0;    ///< Attention, CacheAppend, FirstToken and so on: tokens = batch * seq
  Activation activation = Activation::GeluTanh;  ///< Gelu, GeluGrad, and products fused with them
  double epsilon = 0;                            ///< LayerNorm and its parts
  int round_limit = 0;                           ///< Round
  bool transposed = false;      ///< Linear and its gradients: W is stored [out, in], like an embedding
  int64_t no_gradient_id = -1;  ///< EmbeddingGrad: the id whose row gets no gradient; -1: none
  bool accumulate = false;      ///< a weight gradient: it is added to its last inputs (Operand::Previous)
  int64_t vocab = 0;            ///< VocabMax, SumExp, CrossEntropyGrad: columns from here on are padding
  double dropout = 0;           ///< Dropout, Attention and its gradient: probability of a zero
  std::string stream;           ///< the random stream a dropout mask is drawn from
  int part = 0;                 ///< with dropout: the part of the batch, so the place in the stream
  MaskDraw mask_draw = MaskDraw::ByElement;  ///< with dropout
  bool own_columns = false;  ///< LayerNorm in parts: statistics of own columns only; a planted mistake
  bool one_rank = false;     ///< BiasAdd to a Partial: only rank 0 adds the bias, so the sum has it once
  bool decay = false;        ///< AdamW: weight decay applies to the parameter
  bool operator==(const Attributes&) const = default;
};

struct Step {
  StepId id = 0;
  Op op = Op::Identity;
  Phase phase = Phase::Forward;
  std::string name;         ///< "mlp.fc", "mlp.fc dX", "all-reduce mlp.proj.out"
  Part part = Part::None;   ///< of the model
  int layer = -1;           ///< in a whole model: the layer it belongs to; -1: outside the layers
  int micro_batch = 0;      ///< the part of the batch it works on; 0 also: on all parts
  Axis axis = Axis::Tp;     ///< for a collective: the group it runs in
  bool overlapped = false;  ///< for a collective: later steps go on until one uses its tensors
  std::string equation;     ///< "H = U · Wfc + b", made of the tensors' symbols
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;  ///< the Stage draws outputs[0]
  Conjugate conjugate = Conjugate::None;
  StepId pair = -1;  ///< for a conjugate operator: its other half, the step in the other phase
  Attributes attributes;
  bool operator==(const Step&) const = default;
};

/// A mistake planted in one replica alone: the steps that it runs, one for each of the Program's, with the
/// same ids and over the same tensors. Everything else reads the Program's own steps, which the other
/// replicas run.
struct OddReplica {
  int replica = 0;
  std::vector<Step> steps;
  bool operator==(const OddReplica&) const = default;
};

/// Throws std::out_of_range: "there is no step 1312 in a Program with 800 steps".
[[noreturn]] void refuse_id(const char* what, int32_t id, size_t count);

struct Program {
  Settings settings;  ///< it was planned from these; here so that a recording contains them
  std::vector<Tensor> tensors;
  std::vector<Step> steps;
  std::optional<OddReplica> odd;  ///< only with a planted mistake

  /// T, the ranks that share a layer; and D, the replicas of those T. The world has T x D ranks, and a world
  /// rank is replica * T + rank.
  int tp() const { return settings.tp; }
  int dp() const { return settings.dp; }
  /// Throws std::out_of_range, which says both numbers, for an id of another Program.
  const Tensor& tensor(TensorId id) const {
    if (static_cast<size_t>(id) >= tensors.size()) [[unlikely]]
      refuse_id("tensor", id, tensors.size());
    return tensors[static_cast<size_t>(id)];
  }
  const Step& step(StepId id) const {
    if (static_cast<size_t>(id) >= steps.size()) [[unlikely]]
      refuse_id("step", id, steps.size());
    return steps[static_cast<size_t>(id)];
  }
  bool operator==(const Program&) const = default;
};

/// The steps that a replica runs.
const std::vector<Step>& steps_of(const Program& program, int replica);

/// Gives the steps ids in their present order, and corrects Step::pair. Before the call each step has its old
/// id, and a new step has -1. If several steps have the same old id (they were made from one step), a pair
/// refers to the last of them.
void renumber(std::vector<Step>& steps);

/// Returns the shape of `tensor` on one rank: of the slice if it has a sliced dimension, else the full shape.
Shape local_shape(const Tensor& tensor, int ranks, int rank);
int64_t local_bytes(const Tensor& tensor, int ranks, int rank);

/// True if `tensor` is some rows of its storage, not all of it.
bool is_row_view(const Program& program, const Tensor& tensor);

/// Returns the tensor of this role that is kept to the end of a pass: the run's result; kNoTensor: there is
/// none.
TensorId kept_result(const Program& program, Role role);

/// Returns the step that writes `tensor`; -1 for inputs and weights. If `tensor` is some rows of another
/// tensor, and no step writes only these rows: the step that writes the other tensor.
StepId producer_of(const Program& program, TensorId tensor);
/// Returns the steps that read `tensor` or rows of it, in order.
std::vector<StepId> consumers_of(const Program& program, TensorId tensor);

/// Explains why a conversion step is needed: a short text made from its producer, its layouts and its
/// consumer. Empty for other steps.
std::string explain(const Program& program, StepId step);

/// Explains why the ranks do not meet between the step that writes a tensor and the next one that reads it:
/// made from their layouts. Empty on one rank, if a conversion stands there, or if nobody writes or reads the
/// tensor.
std::string explain_no_collective(const Program& program, TensorId tensor);

/// True for an all-reduce among the ranks that hold terms of the same slice.
bool is_among_copies(const Program& program, const Step& step);
/// Returns the size of a collective's group: T, or D over the replicas, or the number of ranks that hold a
/// slice.
int group_ranks(const Program& program, const Step& step);

/// Names what a conversion step converts: the tensor's symbol, or "6 gradients" for a bucket.
std::string converted_words(const Program& program, const Step& step);
/// Returns the bytes of all that a conversion step converts, for the group of rank `rank`: full tensors, or,
/// if the ranks of the group hold the same slices, this slice of each tensor.
int64_t converted_bytes(const Program& program, const Step& step, int rank);

/// Returns the bytes that all ranks of `rank`'s group (`rank` counts within its replica) send together in
/// `step`, as their communicators count them. It is the ring's figure, the least possible. 0 if it is not a
/// collective.
int64_t group_sent_bytes(const Program& program, StepId step, int rank);
/// Returns the bytes that each rank sends in `step`: those of rank 0's group, divided by its number of ranks.
int64_t sent_bytes(const Program& program, StepId step);

/// The place of a rectangle of one rank's local matrix in the full matrix (a tensor seen as rows x cols). A
/// Sharded QKV has three rectangles (its Q, K and V columns), most tensors have one.
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
