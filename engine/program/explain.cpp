// Explains each conversion in a short text, made from the step that writes the tensor, the two layouts and
// the step that reads the tensor. No text is written for a single case, so every split gets its explanations.
#include <fmt/format.h>

#include <algorithm>

#include "engine/program/links.h"

namespace shardlens {
namespace {

// Who writes and reads a tensor: searched in the Program, or looked up if many questions follow.
struct Flow {
  explicit Flow(const Program& of) : program(of) {}
  explicit Flow(const Links& known) : program(known.program()), links(&known) {}

  const Program& program;
  const Links* links = nullptr;

  StepId producer(TensorId tensor) const {
    return links != nullptr ? links->producer_of(tensor) : producer_of(program, tensor);
  }
  std::vector<StepId> consumers(TensorId tensor) const {
    if (links == nullptr) return consumers_of(program, tensor);
    const std::span<const StepId> readers = links->consumers_of(tensor);
    return {readers.begin(), readers.end()};
  }
};

std::string named(const Program& program, const Step& step) {
  const std::string cut = weight_cut(program, step);
  return cut.empty() ? step.equation : fmt::format("{} ({})", step.equation, cut);
}

// Says what each rank holds of a tensor with this layout.
std::string holds(Layout layout) {
  switch (layout.kind) {
    case LayoutKind::Replicated:
      return "the full tensor on every rank (Replicated)";
    case LayoutKind::Sharded:
      return fmt::format("only a slice on each rank ({})", to_string(layout));
    case LayoutKind::Partial:
      if (layout.reduction == Reduction::Max)
        return fmt::format("only the maximum over its own columns on each rank ({})", to_string(layout));
      if (layout.dim >= 0)
        return fmt::format("one term of a slice's sum on each of the {} ranks that hold this slice ({})",
                           layout.copies, to_string(layout));
      return "one term of a sum on each rank (Partial)";
  }
  return {};
}

// Says what a step needs on each rank if it reads this layout.
std::string needs(Layout layout) {
  switch (layout.kind) {
    case LayoutKind::Replicated:
      return "the full tensor";
    case LayoutKind::Sharded:
      return "only its own slice";
    case LayoutKind::Partial:
      return "its own term";
  }
  return {};
}

bool is_summed(Layout layout) {
  return layout.kind == LayoutKind::Partial && layout.reduction == Reduction::Sum;
}

// Returns the step that computed a tensor. Identities are skipped, because they only pass it on.
const Step* origin(const Flow& flow, TensorId tensor) {
  const Program& program = flow.program;
  StepId id = flow.producer(tensor);
  while (id >= 0 && program.step(id).op == Op::Identity) id = flow.producer(program.step(id).inputs[0]);
  return id < 0 ? nullptr : &program.step(id);
}

const Step* first_consumer(const Flow& flow, TensorId tensor) {
  const Program& program = flow.program;
  const std::vector<StepId> readers = flow.consumers(tensor);
  for (StepId id : readers) {
    if (program.step(id).op != Op::Identity) return &program.step(id);
  }
  return readers.empty() ? nullptr : first_consumer(flow, program.step(readers.front()).outputs[0]);
}

// Returns a curved operation's word; empty for one that can be done on the terms of a sum as well.
std::string curve_of(Op op) {
  switch (op) {
    case Op::Gelu:
      return "GeLU";
    case Op::LayerNorm:
    case Op::LayerNormApply:
      return "LayerNorm";
    case Op::Tanh:
      return "tanh";
    case Op::Attention:
    case Op::CachedAttention:
      return "softmax";
    default:
      return {};
  }
}

// Says which operation behind `reader` is the first that is not linear. Sums, biases and dropout could be
// done on the terms, so they are no reason for the sum. Empty if `reader` itself is not linear, and behind a
// product, which makes another sum.
std::string first_curve(const Flow& flow, const Step& reader) {
  const auto is_linear = [](Op op) {
    return op == Op::BiasAdd || op == Op::Add || op == Op::Dropout || op == Op::Identity;
  };
  const Step* step = &reader;
  while (step != nullptr && step->phase == Phase::Forward && is_linear(step->op))
    step = first_consumer(flow, step->outputs[0]);
  if (step == nullptr || step == &reader || step->phase != Phase::Forward) return {};
  const std::string curve = curve_of(step->op);
  if (curve.empty()) return {};
  return fmt::format(
      " {} itself could wait{}, because it is linear. The next operation that is not linear is {} ({}), and "
      "it needs the complete sum: the {} of a sum is not the sum of the {} of its terms.",
      reader.equation, reader.op == Op::BiasAdd ? ", if one rank alone added the bias" : "", curve,
      step->equation, curve, curve == "softmax" ? "softmaxes" : curve + "s");
}

// Explains a sum over the replicas. Each replica computes on its own rows of the batch, so it holds one term
// of the batch's sum.
std::string explain_replicas(const Program& program, const Step& step) {
  const Tensor& first = program.tensor(step.inputs[0]);
  const bool gradients = first.kind == MemoryKind::WeightGradient;
  const std::string what = !gradients                ? fmt::format("the loss ({})", first.symbol)
                           : step.inputs.size() == 1 ? fmt::format("the gradient {}", first.symbol)
                                                     : fmt::format("{} gradients", step.inputs.size());
  return fmt::format(
      "Each of the {} replicas holds {} of only its own rows of the batch. The whole batch needs the sum "
      "over the replicas: an all-reduce among the {} ranks that hold the same slice{}.",
      program.dp(), what, program.dp(),
      gradients ? ". It starts when the backward pass has completed the bucket" : "");
}

std::string explain(const Flow& flow, StepId id) {
  const Program& program = flow.program;
  const Step& step = program.step(id);
  if (!is_conversion(step.op)) return {};
  if (step.axis == Axis::Dp) return explain_replicas(program, step);
  const Tensor& in = program.tensor(step.inputs[0]);
  const Tensor& out = program.tensor(step.outputs[0]);
  if (step.outputs.size() > 1)
    return fmt::format(
        "For each of {}, the backward pass produces {}, but the next reader needs {}: {} → {} is one {}{} "
        "for all of them.",
        converted_words(program, step), holds(in.layout),
        out.layout == kReplicated ? "the full tensor of each" : "its own slice of each, summed",
        to_string(in.layout), to_string(out.layout), to_string(step.op),
        is_among_copies(program, step) ? fmt::format(" among those {} ranks", group_ranks(program, step))
                                       : "");
  const Step* before = origin(flow, in.id);
  const Step* after = first_consumer(flow, out.id);
  const std::string wanted_by =
      after ? fmt::format("{} needs {}", named(program, *after), needs(out.layout))
            : fmt::format("the next reader of {} needs {}", out.symbol, needs(out.layout));

  if (step.op == Op::Identity) {
    const Step* half = step.pair < 0 ? nullptr : &program.step(step.pair);
    const std::string there =
        half ? fmt::format("; in the {} pass this operator is the {}",
                           half->phase == Phase::Forward ? "forward" : "backward", to_string(half->op))
             : "";
    if (is_summed(in.layout))  // only a planted mistake passes a term on
      return fmt::format("{}, but {} is {}, and no collective sums the terms here{}.", wanted_by, in.symbol,
                         holds(in.layout), there);
    return fmt::format("{}, and {} already has this layout ({}), so nothing moves{}.", wanted_by, in.symbol,
                       to_string(in.layout), there);
  }
  const std::string had = before ? fmt::format("{} produces {}", named(program, *before), holds(in.layout))
                                 : fmt::format("{} is {}", in.symbol, holds(in.layout));
  return fmt::format(
             "{}, but {}: {} → {} is {} {}.", had, wanted_by, to_string(in.layout), to_string(out.layout),
             step.op == Op::AllReduce || step.op == Op::AllGather || step.op == Op::AllToAll ? "an" : "a",
             step.op == Op::Slice ? "local slice, and nothing is sent"
             : is_among_copies(program, step)
                 ? fmt::format("{} among those {} ranks", to_string(step.op), group_ranks(program, step))
                 : to_string(step.op)) +
         (after && is_summed(in.layout) ? first_curve(flow, *after) : "");
}

}  // namespace

std::string explain_no_collective(const Program& program, TensorId id) {
  if (program.tp() == 1 || id == kNoTensor) return {};
  const StepId producer = producer_of(program, id);
  const std::vector<StepId> readers = consumers_of(program, id);
  const bool is_converted = std::any_of(
      readers.begin(), readers.end(), [&](StepId reader) { return is_conversion(program.step(reader).op); });
  if (producer < 0 || readers.empty() || is_converted) return {};
  const Step* reader = &program.step(readers.front());
  const Step& before = program.step(producer);
  const Tensor& tensor = program.tensor(id);
  if (is_conversion(before.op) || before.op == Op::Join || reader->op == Op::Join) return {};
  if (tensor.layout.kind == LayoutKind::Partial) return {};  // a fault leaves a term unsummed
  return fmt::format("{} produces {}, and {} needs {}. The layouts agree, so nothing is sent.",
                     named(program, before), holds(tensor.layout), named(program, *reader),
                     tensor.layout.kind == LayoutKind::Replicated ? "just that" : needs(tensor.layout));
}

std::string explain(const Program& program, StepId step) {
  return explain(Flow(program), step);
}

std::string explain(const Links& links, StepId step) {
  return explain(Flow(links), step);
}

}  // namespace shardlens
