// The table of faults, and the changes to a Program that plant them.
#include "engine/program/fault.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/suggest.h"

namespace shardlens {
namespace {

constexpr FaultFacts kFacts[] = {
    {Fault::BiasBeforeReduction,
     "bias-before-reduction",
     "Bias before the reduction",
     "Every rank adds the whole bias to its own term, so the sum over the ranks contains the bias T times.",
     "a row-parallel product with an all-reduce and a bias",
     "--split megatron with --tp of at least 2",
     {.split = "megatron"}},
    {Fault::SkipF,
     "skip-f",
     "f's all-reduce left out",
     "The backward pass does not sum dX over the ranks. Each rank continues with its own term of the "
     "gradient.",
     "a column-parallel product (f)",
     "--split megatron with --tp of at least 2",
     {.split = "megatron"}},
    {Fault::SkipG,
     "skip-g",
     "g's all-reduce left out",
     "The forward pass does not sum a row-parallel product. Each rank continues with its own term.",
     "a row-parallel product (g)",
     "--split megatron with --tp of at least 2",
     {.split = "megatron"}},
    {Fault::GeluOnPartial,
     "gelu-on-partial",
     "GeLU on a Partial",
     "Each rank applies GeLU to its own term, and the all-reduce sums the results. But the sum of the GeLUs "
     "is not the GeLU of the sum. The bias is right: it is added once.",
     "a row-parallel product with GeLU applied to its sum",
     "--split reversed with --tp of at least 2",
     {.split = "reversed"}},
    {Fault::QkvAcrossHeads,
     "qkv-across-heads",
     "QKV cut across heads",
     "The one matrix [Q | K | V] is cut into T equal blocks of columns. So rank 0 holds columns of Q but "
     "none of V, instead of whole heads of Q, K and V.",
     "a column-parallel QKV matrix, and a T that divides the heads",
     "--split megatron with a --tp of at least 2 that divides the heads",
     {.split = "megatron"}},
    {Fault::ReduceCopy,
     "reduce-copy",
     "All-reduce of a copy",
     "The all-reduce sums a copy, but the next step reads the original.",
     "an all-reduce in the forward pass",
     "--split megatron with --tp of at least 2",
     {.split = "megatron"}},
    {Fault::LocalStatistics,
     "local-statistics",
     "LayerNorm with local statistics",
     "Each rank computes mean and variance over only its own slice of hidden. The all-gather of two numbers "
     "per token is left out, and so is the all-reduce of two more in the backward pass.",
     "a residual stream that is cut over hidden",
     "a --split file with \"norm\": \"parallel\", with --tp of at least 2",
     {.norm = NormCut::Parallel}},
    {Fault::OneDropoutStream,
     "one-dropout-stream",
     "One dropout stream in the split region",
     "Every rank uses the dropout mask of rank 0's slice, so different heads lose the same elements.",
     "dropout on a Sharded tensor",
     "a whole model with --dropout 0.1, --split megatron and --tp of at least 2",
     {.whole_model = true, .dropout = true, .split = "megatron"}},
    {Fault::OwnDropoutStreams,
     "own-dropout-streams",
     "One dropout stream for each rank",
     "Every rank draws a different mask for a tensor that must be equal on all ranks, so the copies differ.",
     "dropout on a Replicated tensor",
     "a whole model with --dropout 0.1, --split megatron and --tp of at least 2",
     {.whole_model = true, .dropout = true, .norm = NormCut::Replicated}},
    {Fault::PaddedSoftmax,
     "padded-softmax",
     "Padding left in the softmax",
     "The columns that pad the vocabulary to a multiple of 128 × T take part in the softmax of the loss.",
     "a whole model whose vocabulary is padded",
     "no --layer, and a --tp for which 128 × T does not divide the vocabulary",
     {.several_ranks = false, .whole_model = true}},
    {Fault::TiedGradientLost,
     "tied-gradient-lost",
     "A tied gradient lost",
     "The embedding is used twice. Its second gradient replaces the first instead of being added to it.",
     "a whole model with tied embeddings",
     "no --layer",
     {.several_ranks = false, .whole_model = true}},
    {Fault::ClipInflated,
     "clip-inflated",
     "The clip norm counts copies",
     "A gradient that all ranks hold is counted once per rank, so the norm used for clipping is too large.",
     "a whole model with an optimizer, and both Sharded and Replicated weights",
     "no --layer, --split megatron with --tp of at least 2",
     {.whole_model = true, .split = "megatron"}},
};

using StepAt = std::vector<Step>::iterator;

[[noreturn]] void refuse(const Program& program, Fault fault) {
  throw request_error(fmt::format(
      "the fault {} needs {}, but this Program (split {}, T = {}) has none. What works: {}", to_string(fault),
      facts_of(fault).needs, program.settings.split.name, program.tp(), facts_of(fault).options));
}

template <typename Predicate>
StepAt find_step(Program& program, Fault fault, Predicate wanted) {
  const auto found = std::find_if(program.steps.begin(), program.steps.end(), wanted);
  if (found == program.steps.end()) refuse(program, fault);
  return found;
}

// Moves a step behind the `by` steps that follow it, and corrects the ids and pairs of the moved steps.
void move_behind(Program& program, StepAt step, int by) {
  std::rotate(step, step + 1, step + by + 1);
  for (StepAt at = step; at != step + by + 1; ++at) {
    at->id = static_cast<StepId>(at - program.steps.begin());
    if (at->pair >= 0) program.steps[static_cast<size_t>(at->pair)].pair = at->id;
  }
}

// Adds a new tensor: each rank's term of `tensor` before the sum. `tensor` becomes the sum, in the same
// bytes.
TensorId add_term_of(Program& program, TensorId tensor) {
  Tensor term = program.tensor(tensor);
  term.id = static_cast<TensorId>(program.tensors.size());
  term.name += "@partial";
  term.layout = kPartial;
  term.storage = kNoTensor;
  term.keep = false;
  program.tensors.push_back(term);
  program.tensors[static_cast<size_t>(tensor)].storage = term.id;
  return term.id;
}

void bias_before_reduction(Program& program) {
  const auto adds_bias_to_sum = [&](const Step& step) {
    if (step.op != Op::BiasAdd || step.id == 0) return false;
    const Step& before = program.step(step.id - 1);
    return before.op == Op::AllReduce && before.outputs[0] == step.inputs[0];
  };
  const StepAt add = find_step(program, Fault::BiasBeforeReduction, adds_bias_to_sum);
  const StepAt reduce = add - 1;
  const TensorId whole = add->outputs[0];
  const TensorId term = add_term_of(program, whole);  // each rank's term, which already contains the bias
  add->inputs[0] = reduce->inputs[0];
  add->outputs = {term};
  reduce->inputs = {term};
  reduce->outputs = {whole};
  move_behind(program, reduce, 1);
}

void gelu_on_partial(Program& program) {
  const auto bends_a_sum = [&](const Step& step) {
    if (step.op != Op::Gelu || step.phase != Phase::Forward || step.id < 2) return false;
    const Step &add = program.step(step.id - 1), &reduce = program.step(step.id - 2);
    return add.op == Op::BiasAdd && add.outputs[0] == step.inputs[0] && reduce.op == Op::AllReduce &&
           reduce.outputs[0] == add.inputs[0];
  };
  const StepAt gelu = find_step(program, Fault::GeluOnPartial, bends_a_sum);
  const StepAt add = gelu - 1, reduce = gelu - 2;
  add->attributes.one_rank = true;  // the sum of the terms is still right: nothing but GeLU is wrong
  Tensor& bent = program.tensors[static_cast<size_t>(gelu->inputs[0])];
  bent.layout = kPartial;
  bent.name += "@partial";
  const TensorId whole = gelu->outputs[0];
  const TensorId term = add_term_of(program, whole);
  add->inputs[0] = reduce->inputs[0];
  gelu->outputs = {term};
  reduce->inputs = {term};
  reduce->outputs = {whole};
  move_behind(program, reduce, 2);
}

void leave_out(const Program& program, Step& collective) {
  collective.op = Op::Identity;
  collective.equation = fmt::format("identity({})", program.tensor(collective.outputs[0]).symbol);
  collective.overlapped = false;
}

void skip(Program& program, Fault fault, Conjugate mark, Phase phase) {
  const auto is_wanted = [&](const Step& s) {
    return s.op == Op::AllReduce && s.conjugate == mark && s.phase == phase;
  };
  const auto in_a_layer = [&](const Step& s) { return s.layer >= 0 && is_wanted(s); };
  const bool has_layers = std::any_of(program.steps.begin(), program.steps.end(), in_a_layer);
  leave_out(program,
            has_layers ? *find_step(program, fault, in_a_layer) : *find_step(program, fault, is_wanted));
}

void qkv_across_heads(Program& program) {
  // [hidden, 3, heads, head_dim] sliced along heads becomes [hidden, 3 hidden] sliced along columns.
  const auto multiplies_qkv = [&](const Step& step) {
    if (step.op != Op::Linear) return false;
    const Tensor& weight = program.tensor(input_of(program, step, Operand::Weight));
    return weight.shape.size() == 4 && weight.layout.kind == LayoutKind::Sharded && weight.layout.dim == 2 &&
           weight.layout.copies == 1 &&
           weight.shape[2] % program.tp() == 0;  // otherwise the slices would change their sizes
  };
  const StepAt product = find_step(program, Fault::QkvAcrossHeads, multiplies_qkv);
  const std::string weight = program.tensor(input_of(program, *product, Operand::Weight)).value;
  const std::string bias = program.tensor(input_of(program, *product, Operand::Bias)).value;
  for (Tensor& tensor : program.tensors) {
    const bool is_weight = tensor.value == weight || tensor.value == "grad." + weight;
    const bool is_bias = tensor.value == bias || tensor.value == "grad." + bias;
    const int64_t columns = matrix_shape(tensor).cols;
    if (is_weight) tensor.shape = {tensor.shape[0], columns};
    if (is_bias) tensor.shape = {columns};
    if (is_weight || is_bias) tensor.layout = sharded(static_cast<int>(tensor.shape.size()) - 1);
  }
}

void reduce_copy(Program& program) {
  const auto sums_for_a_reader = [&](const Step& step) {
    return step.op == Op::AllReduce && step.phase == Phase::Forward &&
           !consumers_of(program, step.outputs[0]).empty();
  };
  const StepAt reduce = find_step(program, Fault::ReduceCopy, sums_for_a_reader);
  const TensorId term = reduce->inputs[0];
  const TensorId sum = reduce->outputs[0];
  program.tensors[static_cast<size_t>(sum)].storage = kNoTensor;
  for (Step& step : program.steps) {
    if (step.id != reduce->id) std::replace(step.inputs.begin(), step.inputs.end(), sum, term);
  }
}

Step& producer(Program& program, TensorId tensor) {
  return program.steps[static_cast<size_t>(producer_of(program, tensor))];
}

void local_statistics(Program& program) {
  const auto applies = [](const Step& step) { return step.op == Op::LayerNormApply; };
  const StepAt apply = find_step(program, Fault::LocalStatistics, applies);
  Step& gather = producer(program, input_of(program, *apply, Operand::Sums));
  Tensor& sums = program.tensors[static_cast<size_t>(gather.outputs[0])];
  sums.layout = program.tensor(gather.inputs[0]).layout;  // every rank keeps its own two numbers
  sums.storage = gather.inputs[0];
  leave_out(program, gather);
  apply->attributes.own_columns = true;
  for (const StepId reader : consumers_of(program, output_of(program, *apply, Operand::Stats))) {
    Step& step = program.steps[static_cast<size_t>(reader)];
    step.attributes.own_columns = true;
    if (step.op == Op::LayerNormGradApply)
      leave_out(program, producer(program, input_of(program, step, Operand::GradSums)));
  }
}

// Changes how the masks of one stream are drawn, in all its steps: a mask is drawn in the forward pass and
// again for its gradient, and both must be wrong in the same way.
void draw_masks(Program& program, Fault fault, MaskDraw draw,
                bool (*is_wanted)(const Program&, const Step&)) {
  const std::string stream =
      find_step(program, fault, [&](const Step& step) {
        return program.tp() > 1 && step.attributes.dropout > 0 && is_wanted(program, step);
      })->attributes.stream;
  for (Step& step : program.steps) {
    if (step.attributes.stream == stream) step.attributes.mask_draw = draw;
  }
}

bool drops_in_a_slice(const Program& program, const Step& step) {
  const bool attends = step.op == Op::Attention, drops = step.op == Op::Dropout;
  return (attends || drops) && program.tensor(step.inputs[0]).layout.kind == LayoutKind::Sharded;
}

bool drops_in_a_copy(const Program& program, const Step& step) {
  return step.op == Op::Dropout && program.tensor(step.inputs[0]).layout == kReplicated;
}

void padded_softmax(Program& program) {
  const auto is_padded = [&](const Step& step) {
    if (step.op != Op::SumExp) return false;
    return program.tensor(input_of(program, step, Operand::Logits)).shape[1] > step.attributes.vocab;
  };
  const StepAt sum = find_step(program, Fault::PaddedSoftmax, is_padded);
  sum->attributes.vocab = program.tensor(input_of(program, *sum, Operand::Logits)).shape[1];
}

void tied_gradient_lost(Program& program) {
  const auto adds_to_another = [](const Step& step) {
    return step.op == Op::EmbeddingGrad && step.attributes.accumulate;
  };
  find_step(program, Fault::TiedGradientLost, adds_to_another)->attributes.accumulate = false;
}

void clip_inflated(Program& program) {
  const auto squares_in = [&](LayoutKind kind) {
    return [&program, kind](const Step& step) {
      return step.op == Op::SquareSum && program.tensor(step.outputs[0]).layout.kind == kind;
    };
  };
  const StepAt cut = find_step(program, Fault::ClipInflated, squares_in(LayoutKind::Partial));
  const StepAt whole = find_step(program, Fault::ClipInflated, squares_in(LayoutKind::Replicated));
  const std::vector<TensorId> moved(whole->inputs.begin() + 1, whole->inputs.end());
  cut->inputs.insert(cut->inputs.end(), moved.begin(), moved.end());
  whole->inputs.resize(1);
}

}  // namespace

const FaultFacts& facts_of(Fault fault) {
  return *std::find_if(std::begin(kFacts), std::end(kFacts),
                       [&](const FaultFacts& facts) { return facts.fault == fault; });
}

std::string to_string(Fault fault) {
  return facts_of(fault).name;
}

const std::vector<Fault>& all_faults() {
  static const std::vector<Fault> faults = [] {
    std::vector<Fault> list;
    for (const FaultFacts& facts : kFacts) list.push_back(facts.fault);
    return list;
  }();
  return faults;
}

Fault parse_fault(const std::string& text) {
  std::vector<std::string> names;
  for (const FaultFacts& facts : kFacts) {
    if (text == facts.name) return facts.fault;
    names.emplace_back(facts.name);
  }
  throw unknown_name("fault", text, names);
}

Program plant(Program program, Fault fault) {
  switch (fault) {
    case Fault::BiasBeforeReduction:
      bias_before_reduction(program);
      break;
    case Fault::SkipF:
      skip(program, fault, Conjugate::F, Phase::Backward);
      break;
    case Fault::SkipG:
      skip(program, fault, Conjugate::G, Phase::Forward);
      break;
    case Fault::GeluOnPartial:
      gelu_on_partial(program);
      break;
    case Fault::QkvAcrossHeads:
      qkv_across_heads(program);
      break;
    case Fault::ReduceCopy:
      reduce_copy(program);
      break;
    case Fault::LocalStatistics:
      local_statistics(program);
      break;
    case Fault::OneDropoutStream:
      draw_masks(program, fault, MaskDraw::OneStream, drops_in_a_slice);
      break;
    case Fault::OwnDropoutStreams:
      draw_masks(program, fault, MaskDraw::OwnStreams, drops_in_a_copy);
      break;
    case Fault::PaddedSoftmax:
      padded_softmax(program);
      break;
    case Fault::TiedGradientLost:
      tied_gradient_lost(program);
      break;
    case Fault::ClipInflated:
      clip_inflated(program);
      break;
  }
  return program;
}

Program plant_in_replica(Program program, Fault fault, int replica) {
  if (program.dp() == 1)
    throw request_error(
        fmt::format("replica {} cannot be broken alone: there is only one. Ask for more with --dp, such as "
                    "--dp 2",
                    replica));
  if (replica < 0 || replica >= program.dp())
    throw request_error(fmt::format("there is no replica {}: with D = {} they have the numbers 0 to {}",
                                    replica, program.dp(), program.dp() - 1));
  Program broken = plant(program, fault);
  if (broken.tensors != program.tensors)
    throw request_error(fmt::format(
        "the fault {} changes tensors, which all replicas have alike, so it cannot be planted in replica {} "
        "alone. Plant it in all replicas, or one that changes only steps, such as skip-f, skip-g or "
        "tied-gradient-lost",
        to_string(fault), replica));
  program.odd = OddReplica{replica, std::move(broken.steps)};
  return program;
}

}  // namespace shardlens
