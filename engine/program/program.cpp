// The words of a Program's enums, and facts derived from a Program: local shapes, producers, consumers, sent
// bytes, and the places of shards in the full tensor.
#include "engine/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "engine/base/counted.h"
#include "engine/base/words.h"

namespace shardlens {

namespace {

constexpr Word<MemoryKind> kMemoryKindWords[] = {{MemoryKind::Input, "inputs"},
                                                 {MemoryKind::Weight, "weights"},
                                                 {MemoryKind::WeightGradient, "weight gradients"},
                                                 {MemoryKind::OptimizerState, "optimizer state"},
                                                 {MemoryKind::KeyValueCache, "key-value cache"},
                                                 {MemoryKind::Activation, "activations"},
                                                 {MemoryKind::ActivationGradient, "activation gradients"},
                                                 {MemoryKind::Workspace, "workspace"}};
constexpr Word<Phase> kPhaseWords[] = {
    {Phase::Forward, "forward"}, {Phase::Backward, "backward"}, {Phase::Update, "update"}};
constexpr Word<Axis> kAxisWords[] = {{Axis::Tp, "tp"}, {Axis::Dp, "dp"}};
constexpr Word<Conjugate> kConjugateWords[] = {
    {Conjugate::None, "none"}, {Conjugate::F, "f"}, {Conjugate::G, "g"}};
constexpr Word<MaskDraw> kMaskDrawWords[] = {{MaskDraw::ByElement, "by-element"},
                                             {MaskDraw::OneStream, "one-stream"},
                                             {MaskDraw::OwnStreams, "own-streams"}};

}  // namespace

void refuse_id(const char* what, int32_t id, size_t count) {
  throw std::out_of_range(fmt::format("there is no {} {} in a Program with {}", what, id,
                                      counted(static_cast<int64_t>(count), what)));
}

std::string to_string(MemoryKind kind) {
  return word_of(kMemoryKindWords, kind);
}
MemoryKind parse_memory_kind(const std::string& text) {
  return parse_word(kMemoryKindWords, "memory kind", text);
}
std::string to_string(Phase phase) {
  return word_of(kPhaseWords, phase);
}
Phase parse_phase(const std::string& text) {
  return parse_word(kPhaseWords, "phase", text);
}
std::string to_string(Axis axis) {
  return word_of(kAxisWords, axis);
}
Axis parse_axis(const std::string& text) {
  return parse_word(kAxisWords, "axis", text);
}
std::string to_string(Conjugate conjugate) {
  return word_of(kConjugateWords, conjugate);
}
Conjugate parse_conjugate(const std::string& text) {
  return parse_word(kConjugateWords, "conjugate operator", text);
}
std::string to_string(MaskDraw draw) {
  return word_of(kMaskDrawWords, draw);
}
MaskDraw parse_mask_draw(const std::string& text) {
  return parse_word(kMaskDrawWords, "mask draw", text);
}

Shape local_shape(const Tensor& tensor, int ranks, int rank) {
  Shape shape = tensor.shape;
  if (tensor.layout.dim >= 0) {
    int64_t& extent = shape[static_cast<size_t>(tensor.layout.dim)];
    extent = slice_room(tensor.layout, extent, ranks, rank);
  }
  return shape;
}

int64_t local_bytes(const Tensor& tensor, int ranks, int rank) {
  return element_count(local_shape(tensor, ranks, rank)) * element_bytes(tensor.dtype);
}

bool is_row_view(const Program& program, const Tensor& tensor) {
  return tensor.storage != kNoTensor && tensor.shape != program.tensor(tensor.storage).shape;
}

const std::vector<Step>& steps_of(const Program& program, int replica) {
  return program.odd && program.odd->replica == replica ? program.odd->steps : program.steps;
}

void renumber(std::vector<Step>& steps) {
  StepId last = -1;
  for (const Step& step : steps) last = std::max(last, step.id);
  std::vector<StepId> moved(static_cast<size_t>(last + 1), -1);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].id >= 0) moved[static_cast<size_t>(steps[i].id)] = static_cast<StepId>(i);
    steps[i].id = static_cast<StepId>(i);
  }
  for (Step& step : steps)
    if (step.pair >= 0) step.pair = moved[static_cast<size_t>(step.pair)];
}

TensorId kept_result(const Program& program, Role role) {
  // The last one: before a sum over the replicas comes its term.
  const auto found =
      std::find_if(program.tensors.rbegin(), program.tensors.rend(), [&](const Tensor& tensor) {
        return tensor.keep && tensor.role == role && tensor.kind == MemoryKind::Activation;
      });
  return found == program.tensors.rend() ? kNoTensor : found->id;
}

StepId producer_of(const Program& program, TensorId tensor) {
  for (const Step& step : program.steps) {
    if (std::find(step.outputs.begin(), step.outputs.end(), tensor) != step.outputs.end()) return step.id;
  }
  const Tensor& unwritten = program.tensor(tensor);
  return is_row_view(program, unwritten) ? producer_of(program, unwritten.storage) : -1;
}

std::vector<StepId> consumers_of(const Program& program, TensorId tensor) {
  std::vector<StepId> result;
  const auto is_or_views = [&](TensorId id) {
    const Tensor& read = program.tensor(id);
    return id == tensor || (read.storage == tensor && is_row_view(program, read));
  };
  for (const Step& step : program.steps)
    if (std::any_of(step.inputs.begin(), step.inputs.end(), is_or_views)) result.push_back(step.id);
  return result;
}

namespace {

// Returns the bytes that do not move in an all-to-all, over all ranks: the part of a rank's old slice that is
// also in its new slice.
int64_t staying_bytes(const Tensor& in, const Tensor& out, int ranks) {
  int64_t bytes = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const int64_t extent = in.shape[static_cast<size_t>(out.layout.dim)];
    bytes += local_bytes(in, ranks, rank) / extent * shard_range(extent, ranks, rank).size();
  }
  return bytes;
}

}  // namespace

std::string converted_words(const Program& program, const Step& step) {
  const Tensor& first = program.tensor(step.outputs[0]);
  if (step.outputs.size() == 1) return first.symbol;
  return counted(step.outputs.size(), first.kind == MemoryKind::WeightGradient ? "gradient" : "tensor");
}

int64_t converted_bytes(const Program& program, const Step& step, int rank) {
  // Over the replicas, a rank reduces its own slices with the same rank of the other replicas. Among copies,
  // it reduces a slice with the ranks that hold the same slice.
  const bool of_slices = step.axis == Axis::Dp || is_among_copies(program, step);
  int64_t bytes = 0;
  for (const TensorId id : step.outputs) {
    const Tensor& out = program.tensor(id);
    bytes += of_slices ? local_bytes(out, program.tp(), rank) : out.bytes();
  }
  return bytes;
}

int64_t group_sent_bytes(const Program& program, StepId id, int rank) {
  const Step& step = program.step(id);
  const int64_t others = group_ranks(program, step) - 1;
  switch (collective_of(step.op)) {
    case Collective::AllReduce:
      return 2 * others * converted_bytes(program, step, rank);
    case Collective::ReduceScatter:
    case Collective::AllGather:
      return others * converted_bytes(program, step, rank);
    case Collective::AllToAll:
      return converted_bytes(program, step, rank) -
             staying_bytes(program.tensor(step.inputs[0]), program.tensor(step.outputs[0]), program.tp());
    case Collective::None:
    case Collective::Slice:
      break;
  }
  return 0;
}

int64_t sent_bytes(const Program& program, StepId id) {
  return group_sent_bytes(program, id, 0) / group_ranks(program, program.step(id));
}

bool is_among_copies(const Program& program, const Step& step) {
  if (step.op != Op::AllReduce || step.axis == Axis::Dp) return false;
  return program.tensor(step.inputs[0]).layout.copies > 1;
}

int group_ranks(const Program& program, const Step& step) {
  if (step.axis == Axis::Dp) return program.dp();
  return is_among_copies(program, step) ? program.tensor(step.inputs[0]).layout.copies : program.tp();
}

namespace {

MatrixShape as_matrix(const Shape& shape, int row_dims) {
  MatrixShape matrix;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    (d < row_dims ? matrix.rows : matrix.cols) *= shape[static_cast<size_t>(d)];
  }
  return matrix;
}

// A run of consecutive rows (or columns): its range in the full tensor and in the local one, when dims
// [first, last) are flattened into one axis. A slice has one run for each outer index, so a slice of the
// leading dimension is one run.
struct Run {
  Range full, local;
};

std::vector<Run> runs(const Shape& shape, int first, int last, const Layout& layout, int ranks, int rank) {
  int64_t extent = 1;
  for (int d = first; d < last; ++d) extent *= shape[static_cast<size_t>(d)];
  const bool cut = layout.dim >= first && layout.dim < last;
  if (!cut) return {{{0, extent}, {0, extent}}};
  const Slicing axis = slicing(Shape(shape.begin() + first, shape.begin() + last), layout.dim - first);
  const Range range = slice_of(layout, axis.extent, ranks, rank);
  const int64_t room = slice_room(layout, axis.extent, ranks, rank);
  std::vector<Run> result;
  for (int64_t o = 0; o < axis.outer && range.size() > 0; ++o) {
    const int64_t base = o * axis.extent * axis.inner;
    const int64_t local = o * room * axis.inner;
    result.push_back({{base + range.begin * axis.inner, base + range.end * axis.inner},
                      {local, local + range.size() * axis.inner}});
  }
  return result;
}

}  // namespace

MatrixShape matrix_shape(const Tensor& tensor) {
  return as_matrix(tensor.shape, tensor.row_dims);
}

MatrixShape local_matrix_shape(const Tensor& tensor, int ranks, int rank) {
  return as_matrix(local_shape(tensor, ranks, rank), tensor.row_dims);
}

std::vector<Placement> placements(const Tensor& tensor, int ranks, int rank) {
  const int dims = static_cast<int>(tensor.shape.size());
  std::vector<Placement> result;
  for (const Run& rows : runs(tensor.shape, 0, tensor.row_dims, tensor.layout, ranks, rank)) {
    for (const Run& cols : runs(tensor.shape, tensor.row_dims, dims, tensor.layout, ranks, rank)) {
      result.push_back({rows.full, cols.full, rows.local, cols.local});
    }
  }
  return result;
}

}  // namespace shardlens
