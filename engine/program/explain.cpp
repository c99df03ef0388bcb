// One sentence for every conversion, put together from what the Program says of its producer, its layouts and
// its consumer. There is no text per case: plan another split and the sentences follow.
#include <fmt/format.h>

#include <algorithm>

#include "engine/program/program.h"

namespace shardlens {
namespace {

// "row-parallel", "column-parallel" or "replicated": where the step's weight is cut. Empty for steps without
// one.
std::string cut_of(const Program& program, const Step& step) {
  if (step.op != Op::Linear && step.op != Op::LinearGradInput) return {};
  for (TensorId id : step.inputs) {
    const Tensor& tensor = program.tensor(id);
    if (tensor.kind != MemoryKind::Weight || tensor.shape.size() < 2) continue;
    if (tensor.layout.kind != LayoutKind::Sharded) return "replicated";
    if (step.attributes.transposed) return "vocabulary-parallel";
    return tensor.layout.dim < tensor.row_dims ? "row-parallel" : "column-parallel";
  }
  return {};
}

std::string named(const Program& program, const Step& step) {
  const std::string cut = cut_of(program, step);
  return cut.empty() ? step.equation : fmt::format("{} ({})", step.equation, cut);
}

// What a layout means for the person who looks at one rank.
std::string holds(Layout layout) {
  switch (layout.kind) {
    case LayoutKind::Replicated:
      return "the whole of it on every rank (Replicated)";
    case LayoutKind::Sharded:
      return fmt::format("only a slice on each rank ({})", to_string(layout));
    case LayoutKind::Partial:
      if (layout.reduction == Reduction::Max)
        return fmt::format("the largest of each rank's own columns ({})", to_string(layout));
      if (layout.dim >= 0)
        return fmt::format("one term of a slice on each of the {} ranks that hold it ({})", layout.copies,
                           to_string(layout));
      return "one term of a sum on each rank (Partial)";
  }
  return {};
}

std::string needs(Layout layout) {
  switch (layout.kind) {
    case LayoutKind::Replicated:
      return "the whole of it";
    case LayoutKind::Sharded:
      return "only its own slice";
    case LayoutKind::Partial:
      return "its own term";
  }
  return {};
}

// The step that really wrote a tensor: identities only pass it on.
const Step* origin(const Program& program, TensorId tensor) {
  StepId id = producer_of(program, tensor);
  while (id >= 0 && program.step(id).op == Op::Identity)
    id = producer_of(program, program.step(id).inputs[0]);
  return id < 0 ? nullptr : &program.step(id);
}

const Step* first_consumer(const Program& program, TensorId tensor) {
  const std::vector<StepId> readers = consumers_of(program, tensor);
  for (StepId id : readers) {
    if (program.step(id).op != Op::Identity) return &program.step(id);
  }
  return readers.empty() ? nullptr : first_consumer(program, program.step(readers.front()).outputs[0]);
}

// Replicas see different rows of the batch, so what each has is a term of the batch's sum.
std::string explain_replicas(const Program& program, const Step& step) {
  const Tensor& first = program.tensor(step.inputs[0]);
  const bool gradients = first.kind == MemoryKind::WeightGradient;
  const std::string what = !gradients                ? fmt::format("the loss ({})", first.symbol)
                           : step.inputs.size() == 1 ? fmt::format("the gradient {}", first.symbol)
                                                     : fmt::format("{} gradients", step.inputs.size());
  return fmt::format(
      "Each of the {} replicas holds {} of its own rows of the batch only; the batch's is the sum over the "
      "replicas: an all-reduce among the {} ranks that hold the same slice{}.",
      program.replicas(), what, program.replicas(),
      gradients ? ", as soon as the backward pass has completed the bucket" : "");
}

}  // namespace

std::string explain(const Program& program, StepId id) {
  const Step& step = program.step(id);
  if (!is_conversion(step.op)) return {};
  if (step.axis == Axis::Dp) return explain_replicas(program, step);
  const Tensor& in = program.tensor(step.inputs[0]);
  const Tensor& out = program.tensor(step.outputs[0]);
  if (step.outputs.size() > 1)
    return fmt::format(
        "The backward pass leaves of {} {}, but whoever takes them next needs {}: {} → {} is one {}{} for "
        "all of them.",
        converted_words(program, step), holds(in.layout),
        out.layout == kReplicated ? "the whole of each" : "its own slice of each, summed",
        to_string(in.layout), to_string(out.layout), to_string(step.op),
        is_among_copies(program, step) ? fmt::format(" among those {} ranks", group_ranks(program, step))
                                       : "");
  const Step* before = origin(program, in.id);
  const Step* after = first_consumer(program, out.id);
  const std::string wanted_by =
      after ? fmt::format("{} needs {}", named(program, *after), needs(out.layout))
            : fmt::format("whoever takes {} next needs {}", out.symbol, needs(out.layout));

  if (step.op == Op::Identity) {
    const Step* half = step.pair < 0 ? nullptr : &program.step(step.pair);
    const std::string there =
        half ? fmt::format("; in the {} pass it is the {}",
                           half->phase == Phase::Forward ? "forward" : "backward", to_string(half->op))
             : "";
    return fmt::format("{}, and {} is there already ({}), so nothing moves{}.", wanted_by, in.symbol,
                       to_string(in.layout), there);
  }
  const std::string had = before ? fmt::format("{} leaves {}", named(program, *before), holds(in.layout))
                                 : fmt::format("{} has {}", in.symbol, holds(in.layout));
  return fmt::format(
      "{}, but {}: {} → {} is {} {}.", had, wanted_by, to_string(in.layout), to_string(out.layout),
      step.op == Op::AllReduce || step.op == Op::AllGather || step.op == Op::AllToAll ? "an" : "a",
      step.op == Op::Slice ? "local slice, and nothing is sent"
      : is_among_copies(program, step)
          ? fmt::format("{} among those {} ranks", to_string(step.op), group_ranks(program, step))
          : to_string(step.op));
}

}  // namespace shardlens
