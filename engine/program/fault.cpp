// Planting faults.
#include "engine/program/fault.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/error.h"
#include "engine/config/suggest.h"

namespace shardlens {
namespace {

struct FaultName {
  Fault fault;
  const char* name;
  const char* needs;  // what a Program must have for the fault to be planted
};

constexpr FaultName kNames[] = {
    {Fault::BiasBeforeReduction, "bias-before-reduction",
     "a row-parallel product with an all-reduce and a bias"},
    {Fault::SkipF, "skip-f", "a column-parallel product (f)"},
    {Fault::SkipG, "skip-g", "a row-parallel product (g)"},
    {Fault::QkvAcrossHeads, "qkv-across-heads", "a column-parallel QKV matrix whose heads T divides"},
    {Fault::ReduceCopy, "reduce-copy", "an all-reduce in the forward pass"},
    {Fault::PaddedSoftmax, "padded-softmax", "a whole model with a padded vocabulary"},
    {Fault::TiedGradientLost, "tied-gradient-lost", "a whole model with tied embeddings"},
    {Fault::ClipInflated, "clip-inflated", "a whole model with an optimizer and sharded weights"},
};

const FaultName& entry(Fault fault) {
  return *std::find_if(std::begin(kNames), std::end(kNames),
                       [&](const FaultName& n) { return n.fault == fault; });
}

using StepAt = std::vector<Step>::iterator;

template <typename Predicate>
StepAt find_step(Program& program, Fault fault, Predicate wanted) {
  const auto found = std::find_if(program.steps.begin(), program.steps.end(), wanted);
  if (found == program.steps.end()) {
    throw request_error(
        fmt::format("the fault {} needs {}; this Program (split {}, T = {}) has none. Try --split "
                    "megatron with T of at least 2",
                    to_string(fault), entry(fault).needs, program.settings.split.name, program.ranks()));
  }
  return found;
}

bool is_forward_all_reduce(const Step& step) {
  return step.op == Op::AllReduce && step.phase == Phase::Forward;
}

void bias_before_reduction(Program& program) {
  const auto adds_bias_to_sum = [&](const Step& step) {
    if (step.op != Op::BiasAdd || step.id == 0) return false;
    const Step& before = program.step(step.id - 1);
    return before.op == Op::AllReduce && before.outputs[0] == step.inputs[0];
  };
  const StepAt add = find_step(program, Fault::BiasBeforeReduction, adds_bias_to_sum);
  const StepAt reduce = add - 1;
  Tensor term = program.tensor(add->outputs[0]);  // each rank's term, bias already in it
  const TensorId whole = term.id;
  term.id = static_cast<TensorId>(program.tensors.size());
  term.name += "@partial";
  term.layout = kPartial;
  term.storage = kNoTensor;
  term.keep = false;
  program.tensors.push_back(term);
  program.tensors[static_cast<size_t>(whole)].storage = term.id;
  add->inputs[0] = reduce->inputs[0];
  add->outputs = {term.id};
  reduce->inputs = {term.id};
  reduce->outputs = {whole};
  std::swap(*add, *reduce);
  std::swap(add->id, reduce->id);
}

void skip(Program& program, Fault fault, Conjugate mark, Phase phase) {
  const auto step = find_step(program, fault, [&](const Step& s) {
    return s.op == Op::AllReduce && s.conjugate == mark && s.phase == phase;
  });
  step->op = Op::Identity;
}

void qkv_across_heads(Program& program) {
  // [hidden, 3, heads, head_dim] sliced along heads becomes [hidden, 3 hidden] sliced along columns.
  const auto multiplies_qkv = [&](const Step& step) {
    return step.op == Op::Linear && program.tensor(step.inputs[1]).shape.size() == 4 &&
           program.tensor(step.inputs[1]).layout.kind == LayoutKind::Sharded &&
           program.tensor(step.inputs[1]).layout.dim > 0 &&
           program.tensor(step.inputs[1]).shape[2] % program.ranks() == 0;  // else slices change their sizes
  };
  const StepAt product = find_step(program, Fault::QkvAcrossHeads, multiplies_qkv);
  const std::string weight = program.tensor(product->inputs[1]).value;
  const std::string bias = program.tensor(product->inputs[2]).value;
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
  const StepAt reduce = find_step(program, Fault::ReduceCopy, is_forward_all_reduce);
  const TensorId term = reduce->inputs[0];
  const TensorId sum = reduce->outputs[0];
  program.tensors[static_cast<size_t>(sum)].storage = kNoTensor;
  for (Step& step : program.steps) {
    if (step.id != reduce->id) std::replace(step.inputs.begin(), step.inputs.end(), sum, term);
  }
}

void padded_softmax(Program& program) {
  const auto is_padded = [&](const Step& step) {
    return step.op == Op::SumExp && program.tensor(step.inputs[0]).shape[1] > step.attributes.vocab;
  };
  const StepAt sum = find_step(program, Fault::PaddedSoftmax, is_padded);
  sum->attributes.vocab = program.tensor(sum->inputs[0]).shape[1];
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

std::string to_string(Fault fault) {
  return entry(fault).name;
}

const std::vector<Fault>& all_faults() {
  static const std::vector<Fault> faults = {
      Fault::BiasBeforeReduction, Fault::SkipF,       Fault::SkipG,
      Fault::QkvAcrossHeads,      Fault::ReduceCopy,  Fault::PaddedSoftmax,
      Fault::TiedGradientLost,    Fault::ClipInflated};
  return faults;
}

Fault parse_fault(const std::string& text) {
  std::vector<std::string> names;
  for (const FaultName& name : kNames) {
    if (text == name.name) return name.fault;
    names.emplace_back(name.name);
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
    case Fault::QkvAcrossHeads:
      qkv_across_heads(program);
      break;
    case Fault::ReduceCopy:
      reduce_copy(program);
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

}  // namespace shardlens
