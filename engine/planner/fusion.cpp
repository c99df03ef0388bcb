// Finds neighbouring steps that can be one step, then removes the steps and tensors that are no longer used.
#include "engine/planner/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace shardlens {
namespace {

// A bias gradient comes before or after the two products that read the same gradient, and their all-reduce.
constexpr size_t kFarthestBiasGradient = 6;
// GeLU's gradient comes after the product that makes its input, and after that of the weight's gradient.
constexpr size_t kFarthestGeluGradient = 3;

class Fuser {
 public:
  explicit Fuser(Program& program) : program_(program), readers_(program.tensors.size(), 0) {
    for (const Step& step : program.steps)
      for (const TensorId id : step.inputs) ++readers_[static_cast<size_t>(id)];
    for (const Step& step : program.steps)
      if (step.op == Op::Identity) original_[step.outputs[0]] = step.inputs[0];
    gone_.assign(program.steps.size(), false);
    unused_.assign(program.tensors.size(), false);
  }

  void run() {
    for (size_t i = 0; joins_bias_gradients_to_products(program_.settings) && i < program_.steps.size(); ++i)
      if (!gone_[i]) bias_gradient_into_product(i);
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (gone_[i]) continue;
      sum_into_bias(i);
      sum_into_norm(i);
      sum_into_norm_gradient(i);
      bias_gradient_into_gelu(i);
    }
    for (size_t i = 0; joins_gelu_to_products(program_.settings) && i < program_.steps.size(); ++i) {
      if (gone_[i]) continue;
      gelu_into_product(i);
      gelu_gradient_into_product(i);
    }
    compact_steps();
    compact_tensors();
  }

 private:
  Step& step(size_t i) { return program_.steps[i]; }

  // The first step after `i` that has not been removed, if its kind is `op`.
  std::optional<size_t> next(size_t i, Op op) const {
    size_t at = i + 1;
    while (at < gone_.size() && gone_[at]) ++at;
    if (at >= gone_.size() || program_.steps[at].op != op) return std::nullopt;
    return at;
  }

  bool has(size_t i, Operand operand) const {
    return input_place(program_, program_.steps[i], operand).has_value();
  }
  bool writes(size_t i, Operand operand) const {
    return output_place(program_, program_.steps[i], operand).has_value();
  }

  // The other input of an Add with `term`; kNoTensor if no such sum exists or if another step reads `term`
  // too.
  TensorId other_term(const Step& add, TensorId term) const {
    const Tensor& own = program_.tensor(term);
    const bool alone = readers_[static_cast<size_t>(term)] == 1 && !own.keep && own.storage == kNoTensor;
    if (!alone || add.inputs.size() != 2 || program_.tensor(add.outputs[0]).layout != own.layout)
      return kNoTensor;
    if (add.inputs[0] == term) return add.inputs[1];
    return add.inputs[1] == term ? add.inputs[0] : kNoTensor;
  }

  // Step `first` takes over the output of the sum `add`, in place of its own first one.
  void take_over(size_t first, size_t add) {
    unused_[static_cast<size_t>(step(first).outputs[0])] = true;
    step(first).outputs[0] = step(add).outputs[0];
    gone_[add] = true;
  }

  // BiasAdd, Add -> one step with the name of the sum.
  void sum_into_bias(size_t i) {
    if (step(i).op != Op::BiasAdd || has(i, Operand::Addend)) return;
    const std::optional<size_t> add = next(i, Op::Add);
    if (!add || step(*add).layer != step(i).layer) return;
    const TensorId other = other_term(step(*add), step(i).outputs[0]);
    if (other == kNoTensor) return;
    const std::string sum = step(i).equation.substr(step(i).equation.find('=') + 2);
    take_over(i, *add);
    step(i).inputs.push_back(other);
    step(i).name = step(*add).name;
    step(i).part = step(*add).part;
    step(i).equation = fmt::format("{} = {} + {}", program_.tensor(step(i).outputs[0]).symbol,
                                   program_.tensor(other).symbol, sum);
  }

  // A sum, LayerNorm of it -> one step, the norm.
  void sum_into_norm(size_t i) {
    const bool with_bias = step(i).op == Op::BiasAdd && has(i, Operand::Addend);
    if (!with_bias && step(i).op != Op::Add) return;
    const std::optional<size_t> norm = next(i, Op::LayerNorm);
    const TensorId sum = step(i).outputs[0];
    if (!norm || step(*norm).inputs[0] != sum || has(*norm, Operand::Addend) ||
        step(*norm).layer != step(i).layer)
      return;
    Step fused = step(*norm);
    const auto term = [&](Operand operand) { return input_of(program_, step(i), operand); };
    fused.inputs[0] = term(with_bias ? Operand::Addend : Operand::X);
    fused.inputs.push_back(term(with_bias ? Operand::X : Operand::Addend));
    if (with_bias) fused.inputs.push_back(term(Operand::Bias));
    fused.outputs.push_back(sum);
    fused.equation = step(i).equation + "; " + fused.equation;
    fused.id = step(i).id;
    step(i) = std::move(fused);
    gone_[*norm] = true;
  }

  // LayerNorm's gradient, the sum it joins -> one step.
  void sum_into_norm_gradient(size_t i) {
    if (step(i).op != Op::LayerNormGrad) return;
    const std::optional<size_t> add = next(i, Op::Add);
    if (!add) return;
    const TensorId other = other_term(step(*add), step(i).outputs[0]);
    if (other == kNoTensor) return;
    take_over(i, *add);
    step(i).inputs.push_back(other);
    step(i).equation += fmt::format(" + {}", program_.tensor(other).symbol);
  }

  // What a tensor is the same as, on every rank.
  TensorId original(TensorId id) const {
    for (auto same = original_.find(id); same != original_.end(); same = original_.find(id))
      id = same->second;
    return id;
  }

  bool is_read_between(size_t begin, size_t end, TensorId id) const {
    return std::any_of(program_.steps.begin() + static_cast<std::ptrdiff_t>(begin),
                       program_.steps.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](const Step& one) { return std::ranges::count(one.inputs, id) > 0; });
  }

  // A weight's gradient, the gradient of the bias of the same product -> one step, in the place of the first.
  // Sums that are added to earlier ones stay a step: the products of GPU libraries cannot add them.
  void bias_gradient_into_product(size_t i) {
    const Attributes& attributes = step(i).attributes;
    if (step(i).op != Op::LinearGradWeight || attributes.accumulate || attributes.transposed) return;
    const TensorId dy = original(input_of(program_, step(i), Operand::Dy));
    const size_t end = std::min(program_.steps.size(), i + 1 + kFarthestBiasGradient);
    for (size_t at = i - std::min(i, kFarthestBiasGradient); at < end; ++at) {
      const Step& gradient = step(at);
      if (gone_[at] || gradient.op != Op::BiasGrad || original(gradient.inputs[0]) != dy ||
          gradient.attributes.accumulate)
        continue;
      if (at < i && is_read_between(at, i, gradient.outputs[0])) return;
      step(i).outputs.push_back(gradient.outputs[0]);
      step(i).equation += "; " + gradient.equation;
      gone_[at] = true;
      return;
    }
  }

  // GeLU's gradient, the gradient of the bias before it -> one step.
  void bias_gradient_into_gelu(size_t i) {
    if (step(i).op != Op::GeluGrad || writes(i, Operand::BiasGrad)) return;
    const size_t end = std::min(program_.steps.size(), i + 1 + kFarthestBiasGradient);
    for (size_t at = i + 1; at < end; ++at) {
      const Step& gradient = step(at);
      if (gone_[at] || gradient.op != Op::BiasGrad || gradient.inputs[0] != step(i).outputs[0]) continue;
      step(i).inputs.insert(step(i).inputs.end(), gradient.inputs.begin() + 1, gradient.inputs.end());
      step(i).outputs.push_back(gradient.outputs[0]);
      step(i).attributes.accumulate = gradient.attributes.accumulate;
      step(i).equation += "; " + gradient.equation;
      gone_[at] = true;
      return;
    }
  }

  // A product, GeLU of it -> one step that writes both results.
  void gelu_into_product(size_t i) {
    if (step(i).op != Op::Linear || writes(i, Operand::GeluInput)) return;
    const std::optional<size_t> gelu = next(i, Op::Gelu);
    if (!gelu || step(*gelu).inputs[0] != step(i).outputs[0]) return;
    step(i).outputs.insert(step(i).outputs.begin(), step(*gelu).outputs[0]);
    step(i).attributes.activation = step(*gelu).attributes.activation;
    step(i).equation += "; " + step(*gelu).equation;
    gone_[*gelu] = true;
  }

  // A gradient of a product's input, GeLU's gradient of it -> one step, in the place of the first. By then
  // the other inputs of the second are there, and no step in between reads its outputs.
  void gelu_gradient_into_product(size_t i) {
    if (step(i).op != Op::LinearGradInput || has(i, Operand::GeluInput)) return;
    const TensorId product = step(i).outputs[0];
    const Tensor& own = program_.tensor(product);
    if (readers_[static_cast<size_t>(product)] != 1 || own.keep || own.storage != kNoTensor) return;
    const size_t end = std::min(program_.steps.size(), i + 1 + kFarthestGeluGradient);
    for (size_t at = i + 1; at < end; ++at) {
      const Step& gradient = step(at);
      if (gone_[at]) continue;
      if (gradient.op != Op::GeluGrad || input_of(program_, gradient, Operand::Dy) != product) {
        if (gradient.op != Op::LinearGradWeight && gradient.op != Op::BiasGrad) return;
        continue;
      }
      step(i).inputs.push_back(input_of(program_, gradient, Operand::GeluInput));
      step(i).inputs.insert(step(i).inputs.end(), gradient.inputs.begin() + 2, gradient.inputs.end());
      step(i).outputs = gradient.outputs;
      step(i).attributes.activation = gradient.attributes.activation;
      step(i).attributes.accumulate = gradient.attributes.accumulate;
      step(i).equation += "; " + gradient.equation;
      unused_[static_cast<size_t>(product)] = true;
      gone_[at] = true;
      return;
    }
  }

  void compact_steps() {
    std::vector<Step> kept;
    kept.reserve(program_.steps.size());
    for (size_t i = 0; i < program_.steps.size(); ++i)
      if (!gone_[i]) kept.push_back(std::move(program_.steps[i]));
    renumber(kept);
    program_.steps = std::move(kept);
  }

  void compact_tensors() {
    std::vector<TensorId> moved(program_.tensors.size(), kNoTensor);
    std::vector<Tensor> kept;
    kept.reserve(program_.tensors.size());
    for (Tensor& tensor : program_.tensors) {
      const auto at = static_cast<size_t>(tensor.id);
      if (unused_[at]) continue;
      moved[at] = static_cast<TensorId>(kept.size());
      kept.push_back(std::move(tensor));
      kept.back().id = moved[at];
    }
    for (Tensor& tensor : kept)
      if (tensor.storage != kNoTensor) tensor.storage = moved[static_cast<size_t>(tensor.storage)];
    program_.tensors = std::move(kept);
    for (Step& one : program_.steps)
      for (std::vector<TensorId>* ids : {&one.inputs, &one.outputs})
        for (TensorId& id : *ids) id = moved[static_cast<size_t>(id)];
  }

  Program& program_;
  std::vector<int> readers_;               // number of steps that read each tensor
  std::map<TensorId, TensorId> original_;  // of each output of an identity
  std::vector<bool> gone_;                 // steps that are now part of another step
  std::vector<bool> unused_;               // tensors that no step writes any more
};

}  // namespace

bool joins_bias_gradients_to_products(const Settings& settings) {
  return settings.is_fused() && settings.backend == BackendChoice::Cuda && element_bytes(settings.dtype) == 2;
}

bool joins_gelu_to_products(const Settings& settings) {
  const bool coarse = element_bytes(settings.dtype) == 2 || (settings.dtype == DType::Fp32 && settings.tf32);
  return settings.is_fused() && settings.backend == BackendChoice::Cuda && coarse &&
         settings.model.activation == Activation::GeluTanh;
}

Program fused(Program program) {
  if (program.settings.is_fused()) Fuser(program).run();
  return program;
}

}  // namespace shardlens
