// Implements the builder: tensors, steps, conversions and the tape.
#include "engine/planner/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

namespace shardlens {
namespace {

// A value in its usual layout has the plain name. A suffix such as "@partial" marks its other forms.
std::string suffix(Layout layout) {
  switch (layout.kind) {
    case LayoutKind::Partial:
      return "@partial";
    case LayoutKind::Sharded:
      return "@sharded";
    case LayoutKind::Replicated:
      return "@replicated";
  }
  return {};
}

constexpr int kRoundLimit = 3;  // 3 * 3 * 1 Mi terms still sum exactly in fp32's 24 bits

}  // namespace

Builder::Builder(const Settings& settings) {
  program_.settings = settings;
}

TensorId Builder::add(Tensor tensor) {
  if (tp() == 1) tensor.layout = kReplicated;
  if (tensor.name.empty()) {
    const auto taken = [&](const std::string& name) { return names_.count(name) > 0; };
    const std::string value = again_ ? tensor.value + "@again" : tensor.value;
    tensor.name = tensor.layout.kind == LayoutKind::Partial ? value + suffix(tensor.layout) : value;
    if (taken(tensor.name)) tensor.name = value + suffix(tensor.layout);
    for (int n = 2; taken(tensor.name); ++n)
      tensor.name = fmt::format("{}{}{}", value, suffix(tensor.layout), n);
  }
  names_.insert(tensor.name);
  values_.insert(tensor.value);
  tensor.id = static_cast<TensorId>(program_.tensors.size());
  program_.tensors.push_back(std::move(tensor));
  return program_.tensors.back().id;
}

Tensor Builder::blank(const std::string& value, const std::string& symbol, const Shape& shape,
                      MemoryKind kind) const {
  Tensor tensor;
  tensor.value = value;
  tensor.symbol = symbol;
  tensor.shape = shape;
  tensor.dtype = settings().dtype;
  tensor.kind = kind;
  tensor.layer = layer_;
  tensor.micro_batch = micro_batch_;
  return tensor;
}

std::string Builder::scoped(const std::string& value) const {
  return micro_batch_ > 0 ? fmt::format("mb{}.{}", micro_batch_, in_layer(value)) : in_layer(value);
}

std::string Builder::in_layer(const std::string& value) const {
  return layer_ >= 0 ? fmt::format("h.{}.{}", layer_, value) : value;
}

TensorId Builder::input(Role role, const std::string& name, const std::string& symbol, const Shape& shape,
                        Layout layout) {
  Tensor tensor = blank(scoped(name), symbol, shape, MemoryKind::Input);
  tensor.role = role;
  tensor.layout = layout;
  return add(std::move(tensor));
}

TensorId Builder::input(Role role, const std::string& name, const std::string& symbol, const Shape& shape,
                        DType dtype) {
  Tensor tensor = blank(scoped(name), symbol, shape, MemoryKind::Input);
  tensor.role = role;
  tensor.dtype = dtype;
  return add(std::move(tensor));
}

TensorId Builder::weight(Role role, const std::string& name, const std::string& symbol, const Shape& shape,
                         int row_dims, Layout layout) {
  const auto known = weight_by_name_.find(name);
  if (known != weight_by_name_.end()) return known->second;
  Tensor tensor = blank(name, symbol, shape, MemoryKind::Weight);
  tensor.name = name;
  tensor.role = role;
  tensor.micro_batch = 0;
  tensor.row_dims = row_dims;
  tensor.layout = layout;
  const TensorId id = add(std::move(tensor));
  weight_by_name_[name] = id;
  weights_.push_back(id);
  return id;
}

TensorId Builder::activation(const std::string& value, const std::string& symbol, const Shape& shape,
                             Layout layout) {
  return activation(value, symbol, shape, layout, settings().dtype);
}

TensorId Builder::activation(const std::string& value, const std::string& symbol, const Shape& shape,
                             Layout layout, DType dtype) {
  Tensor tensor = blank(scoped(value), symbol, shape, MemoryKind::Activation);
  tensor.layout = layout;
  tensor.dtype = dtype;
  return add(std::move(tensor));
}

TensorId Builder::gradient_tensor(TensorId of, Layout layout) {
  Tensor tensor = this->tensor(of);
  tensor.name.clear();
  tensor.value = "grad." + tensor.value;
  // A sum of two contributions is another value than its parts, so it gets another name. The name depends
  // only on the order of the operations, which does not depend on T. So parity compares the same values.
  while (values_.count(tensor.value) > 0) tensor.value += ".sum";
  tensor.symbol = "d" + tensor.symbol;
  tensor.layout = layout;
  tensor.storage = kNoTensor;
  tensor.keep = false;
  tensor.kind = MemoryKind::ActivationGradient;
  return add(std::move(tensor));
}

TensorId Builder::gradient_over(TensorId of) {
  const TensorId gradient = gradient_tensor(of, tensor(of).layout);
  if (!tensor(of).keep) program_.tensors[static_cast<size_t>(gradient)].storage = of;
  return gradient;
}

TensorId Builder::weight_gradient(TensorId weight, std::vector<TensorId>& inputs, Attributes& attributes,
                                  Layout activations) {
  Tensor gradient = tensor(weight);
  if (activations == sharded(0) && gradient.layout == kReplicated) gradient.layout = kPartial;
  if (gradient.layout.copies > 1) gradient.layout.kind = LayoutKind::Partial;
  gradient.value = "grad." + gradient.value;
  gradient.name.clear();
  gradient.symbol = "d" + gradient.symbol;
  gradient.dtype = wide();
  gradient.kind = MemoryKind::WeightGradient;
  std::vector<TensorId>& earlier = weight_gradients_[weight];
  if (!earlier.empty()) {
    if (tensor(earlier.back()).layout != gradient.layout && tp() > 1)
      throw std::logic_error("two steps write the gradient of " + tensor(weight).name +
                             " in different layouts");
    const char* of_replica = settings().dp > 1 ? "@replica" : "";
    rename(earlier.back(), fmt::format("{}.part{}{}", gradient.value, earlier.size(), of_replica));
    // Not the gradient before: a chain over all parts of the batch would be long to follow.
    const TensorId first = tensor(earlier.back()).storage;
    gradient.storage = first == kNoTensor ? earlier.back() : first;
    inputs.push_back(earlier.back());
    attributes.accumulate = true;
  }
  earlier.push_back(add(std::move(gradient)));
  return earlier.back();
}

TensorId Builder::optimizer_state(Role role, const std::string& name, const std::string& symbol,
                                  TensorId weight) {
  Tensor state = tensor(weight);
  state.role = role;
  state.value = name;
  state.name = name;
  state.symbol = symbol;
  state.dtype = wide();
  state.kind = MemoryKind::OptimizerState;
  return add(std::move(state));
}

TensorId Builder::cache(const std::string& value, const std::string& symbol, const Shape& shape,
                        Layout layout) {
  Tensor tensor = blank(scoped(value), symbol, shape, MemoryKind::KeyValueCache);
  tensor.layout = layout;
  return add(std::move(tensor));
}

TensorId Builder::in_place(TensorId of, const std::string& value) {
  Tensor tensor = this->tensor(of);
  tensor.value = value;
  tensor.name = value;
  tensor.storage = of;
  tensor.keep = false;
  return add(std::move(tensor));
}

TensorId Builder::sum_over_replicas(TensorId of) {
  const std::string name = tensor(of).name;
  const bool kept = tensor(of).keep;
  rename(of, name + "@replica");
  const TensorId sum = in_place(of, name);
  program_.tensors[static_cast<size_t>(sum)].keep = kept;
  return sum;
}

TensorId Builder::sum_over_ranks(TensorId of) {
  Tensor sum = tensor(of);
  sum.name.clear();
  sum.layout.kind = sum.layout.dim >= 0 ? LayoutKind::Sharded : LayoutKind::Replicated;
  sum.storage = of;
  return add(std::move(sum));
}

void Builder::rename(TensorId id, const std::string& name) {
  Tensor& tensor = program_.tensors[static_cast<size_t>(id)];
  names_.erase(tensor.name);
  values_.erase(tensor.value);
  tensor.name = tensor.value = name;
  names_.insert(name);
  values_.insert(name);
}

TensorId Builder::workspace(const std::string& name, const Shape& shape) {
  Tensor tensor = blank(scoped(name), "work", shape, MemoryKind::Workspace);
  tensor.dtype = wide();
  return add(std::move(tensor));
}

TensorId Builder::step(Op op, const std::string& name, const std::string& equation,
                       std::vector<TensorId> inputs, std::vector<TensorId> outputs,
                       const Attributes& attributes) {
  return add_step(op, scoped(name), equation, std::move(inputs), std::move(outputs), attributes);
}

TensorId Builder::add_step(Op op, const std::string& name, const std::string& equation,
                           std::vector<TensorId> inputs, std::vector<TensorId> outputs,
                           const Attributes& attributes) {
  Step step;
  step.id = static_cast<StepId>(program_.steps.size());
  step.op = op;
  step.phase = phase_;
  step.name = name;
  step.part = part_;
  step.layer = layer_;
  step.micro_batch = micro_batch_;
  step.equation = equation;
  step.inputs = std::move(inputs);
  step.outputs = std::move(outputs);
  step.attributes = attributes;
  program_.steps.push_back(std::move(step));
  return program_.steps.back().outputs[0];
}

TensorId Builder::emit_conversion(TensorId x, Layout to, Conjugate mark) {
  const Collective collective = conversion(tensor(x).layout, to);
  if (collective == Collective::None && mark == Conjugate::None) return x;
  Tensor converted = tensor(x);
  converted.name.clear();
  converted.layout = to;
  converted.keep = false;
  // An all-reduce sums in place and an identity does nothing, so neither needs its own bytes.
  const bool in_place = collective == Collective::None || collective == Collective::AllReduce;
  converted.storage = in_place ? x : kNoTensor;
  if (collective != Collective::None && converted.kind == MemoryKind::Input)
    converted.kind = MemoryKind::Activation;
  const std::string symbol = converted.symbol;
  const std::string value = converted.value;
  const TensorId y = add(std::move(converted));
  add_step(op_of(collective), fmt::format("{} {}", to_string(collective), value),
           fmt::format("{}({})", to_string(collective), symbol), {x}, {y}, {});
  program_.steps.back().conjugate = mark;
  return y;
}

TensorId Builder::convert(TensorId x, Layout to, Conjugate mark) {
  if (tp() == 1) return x;
  const TensorId y = emit_conversion(x, to, mark);
  if (y == x) return x;
  if (tensor(x).layout == sharded(0) && to == kReplicated) token_slice_[y] = x;
  const StepId forward = program_.steps.back().id;
  on_backward([this, x, y, mark, forward] {
    const auto found = contributions_.find(y);
    if (found == contributions_.end()) return;
    // The contributions are summed first. Then one conversion brings the sum to x's gradient layout. If the
    // sum is Partial, that conversion makes f an all-reduce here.
    const TensorId dy = sum_of_contributions(y);
    add_gradient(x, emit_conversion(dy, gradient_layout(tensor(x).layout), mark));
    if (mark == Conjugate::None) return;
    Step& backward = program_.steps.back();
    backward.pair = forward;
    program_.steps[static_cast<size_t>(forward)].pair = backward.id;
  });
  return y;
}

TensorId Builder::whole_again(TensorId x) {
  const auto slice = token_slice_.find(x);
  return slice == token_slice_.end() ? x : emit_conversion(slice->second, kReplicated, Conjugate::None);
}

TensorId Builder::operand(TensorId x) {
  if (settings().operands != Operands::Integer) return x;
  Attributes attributes;
  attributes.round_limit = kRoundLimit;
  Tensor rounded = tensor(x);
  rounded.name.clear();
  rounded.value += ".rounded";
  rounded.symbol = "[" + rounded.symbol + "]";
  rounded.storage = kNoTensor;
  rounded.keep = false;
  if (rounded.kind == MemoryKind::Input) rounded.kind = MemoryKind::Activation;
  const std::string equation = fmt::format("{} = round({})", rounded.symbol, tensor(x).symbol);
  const TensorId y = add(std::move(rounded));
  add_step(Op::Round, "round " + tensor(x).value, equation, {x}, {y}, attributes);
  if (phase_ == Phase::Forward) {
    on_backward([this, x, y] { add_gradient(x, gradient(y)); });
  }
  return y;
}

TensorId Builder::gradient(TensorId of) {
  const TensorId sum = sum_of_contributions(of);
  const TensorId converted = emit_conversion(sum, gradient_layout(tensor(of).layout), Conjugate::None);
  contributions_[of] = {converted};
  return converted;
}

void Builder::emit_postponed(TensorId weight) {
  for (const auto& emit : std::exchange(postponed_[weight], {})) emit();
}

TensorId Builder::sum_of_contributions(TensorId of) {
  const TensorId sum = sum_of(of, contributions_.at(of));
  contributions_[of] = {sum};
  return sum;
}

TensorId Builder::sum_of(TensorId of, std::vector<TensorId> parts) {
  Layout wanted = tensor(parts.at(0)).layout;
  // Terms in the same layout are added first and then reduced together. Terms in different layouts cannot be
  // added directly.
  const auto lies_so = [&](TensorId part) { return tensor(part).layout == wanted; };
  if (!std::all_of(parts.begin(), parts.end(), lies_so)) wanted = gradient_layout(tensor(of).layout);
  for (TensorId& part : parts) {
    if (tensor(part).layout != wanted) part = emit_conversion(part, wanted, Conjugate::None);
  }
  while (parts.size() > 1) {
    const TensorId a = parts[0];
    const TensorId b = parts[1];
    const TensorId sum = gradient_tensor(of, wanted);
    const std::string& a_symbol = tensor(a).symbol;
    const std::string& b_symbol = tensor(b).symbol;
    const std::string symbol = tensor(sum).symbol;
    const std::string equation = symbol == b_symbol ? fmt::format("{} += {}", symbol, a_symbol)
                                 : symbol == a_symbol
                                     ? fmt::format("{} += {}", symbol, b_symbol)
                                     : fmt::format("{} = {} + {}", symbol, a_symbol, b_symbol);
    add_step(Op::Add, "sum " + tensor(sum).value, equation, {a, b}, {sum}, {});
    parts.erase(parts.begin(), parts.begin() + 2);
    parts.insert(parts.begin(), sum);
  }
  return parts.at(0);
}

void Builder::summed_apart(TensorId x, const std::function<void()>& emit) {
  const auto before = std::make_shared<size_t>(0);
  on_backward([this, x, before] {  // plays after the emitted steps' own backward steps
    std::vector<TensorId>& all = contributions_[x];
    if (all.size() < *before + 2) return;
    const auto own = all.begin() + static_cast<std::ptrdiff_t>(*before);
    const TensorId sum = sum_of(x, {own, all.end()});
    contributions_[x].resize(*before);
    contributions_[x].push_back(sum);
  });
  emit();
  on_backward([this, x, before] { *before = contributions_[x].size(); });
}

void Builder::play_from(size_t mark) {
  while (tape_.size() > mark) {
    const TapeEntry entry = std::move(tape_.back());  // emit() can add entries to the tape
    tape_.pop_back();
    part_ = entry.part;
    layer_ = entry.layer;
    entry.emit();
  }
}

void Builder::play_backward() {
  phase_ = Phase::Backward;
  play_from(0);
  phase_ = Phase::Forward;
  layer_ = -1;
}

TensorId Builder::recomputed(TensorId x, const std::function<TensorId(TensorId)>& forward) {
  const size_t mark = tape_.size();
  const TensorId y = forward(x);
  tape_.erase(tape_.begin() + static_cast<std::ptrdiff_t>(mark), tape_.end());
  on_backward([this, x, y, forward] {
    const TensorId dy = gradient(y);
    const size_t inner = tape_.size();
    again_ = true;
    const TensorId same = forward(x);
    again_ = false;
    add_gradient(same, dy);
    play_from(inner);
  });
  return y;
}

void Builder::finish(TensorId x, TensorId y, TensorId dy) {
  program_.tensors[static_cast<size_t>(y)].keep = true;
  phase_ = Phase::Backward;
  add_gradient(y, dy);
  play_from(0);
  program_.tensors[static_cast<size_t>(gradient(x))].keep = true;
}

}  // namespace shardlens
