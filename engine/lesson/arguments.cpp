// The arguments of a call, and names of steps and tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/lesson/evidence.h"
#include "engine/lesson/functions.h"
#include "engine/program/operation.h"
#include "engine/program/shown_name.h"

namespace shardlens {
namespace {

Error unknown_in_program(const char* what, const std::string& name, Names known) {
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return unknown_name(what, name, known);
}

// "mlp.fc.weight" is the weight of the step mlp.fc.
TensorId operand_named(const Program& program, const std::string& name) {
  for (const auto& [ending, operand] : {std::pair{".weight", Operand::Weight}, {".bias", Operand::Bias}}) {
    if (!name.ends_with(ending)) continue;
    const std::string step = name.substr(0, name.size() - std::string_view(ending).size());
    for (const Step& one : program.steps) {
      if (one.name != step) continue;
      if (const TensorId tensor = input_of(program, one, operand); tensor != kNoTensor) return tensor;
    }
    // A row-parallel bias is added by a step of its own, after the sum.
    for (const Step& one : program.steps)
      if (operand == Operand::Bias && one.name.starts_with(step + " ") && one.phase == Phase::Forward)
        if (const TensorId tensor = input_of(program, one, operand); tensor != kNoTensor) return tensor;
  }
  return kNoTensor;
}

}  // namespace

StepId find_step(const Program& program, const std::string& name) {
  for (const Step& step : program.steps)
    if (step.name == name) return step.id;
  return -1;
}

TensorId find_tensor(const Program& program, const std::string& name) {
  for (const Tensor& tensor : program.tensors)
    if (tensor.name == name) return tensor.id;
  // Of a value in several layouts, the last: after its reduction.
  TensorId found = kNoTensor;
  for (const Tensor& tensor : program.tensors)
    if (tensor.value == name) found = tensor.id;
  if (found != kNoTensor) return found;
  if (const TensorId operand = operand_named(program, name); operand != kNoTensor) return operand;
  for (const Tensor& tensor : program.tensors)
    if (tensor.symbol == name) return tensor.id;
  return kNoTensor;
}

TensorId tensor_named(const Program& program, const std::string& name) {
  if (const TensorId found = find_tensor(program, name); found != kNoTensor) return found;
  Names known;
  for (const Tensor& tensor : program.tensors) known.push_back(tensor.name);
  throw unknown_in_program("tensor", name, std::move(known));
}

StepId step_named(const Program& program, const std::string& name) {
  if (const StepId step = find_step(program, name); step >= 0) return step;
  if (const TensorId tensor = find_tensor(program, name); tensor != kNoTensor) {
    if (const StepId producer = producer_of(program, tensor); producer >= 0) return producer;
    throw request_error(fmt::format("no step writes \"{}\": it is there before the run", shown(name)));
  }
  Names known;
  for (const Step& step : program.steps) known.push_back(step.name);
  throw unknown_in_program("step", name, std::move(known));
}

const Program& Arguments::program() const {
  return where_.evidence->program();
}

Value Arguments::value(size_t at) const {
  return evaluate(*call_.parts[at], where_);
}

double Arguments::number(size_t at) const {
  const Value given = value(at);
  if (const LessonNumber* number = std::get_if<LessonNumber>(&given)) return number->value;
  throw request_error(fmt::format("{}: argument {} must be a number, and \"{}\" is {}", call_.text, at + 1,
                                  shown(to_text(given)), kind_of(given)));
}

int64_t Arguments::whole(size_t at, int64_t least, int64_t most) const {
  const double given = number(at);
  if (std::floor(given) == given && given >= static_cast<double>(least) && given <= static_cast<double>(most))
    return static_cast<int64_t>(given);
  throw request_error(fmt::format("{}: argument {} must be a whole number from {} to {}, and is {}",
                                  call_.text, at + 1, least, most, given));
}

std::string Arguments::text(size_t at) const {
  const Value given = value(at);
  if (const std::string* text = std::get_if<std::string>(&given)) return *text;
  throw request_error(fmt::format("{}: argument {} must be a text, and \"{}\" is {}", call_.text, at + 1,
                                  shown(to_text(given)), kind_of(given)));
}

StepId Arguments::step(size_t at) const {
  return step_named(program(), text(at));
}

TensorId Arguments::tensor(size_t at) const {
  return tensor_named(program(), text(at));
}

std::string with_equation(const Program& program, const std::string& name) {
  if (const StepId id = find_step(program, name); id >= 0) {
    const Step& step = program.step(id);
    if (step.equation.empty()) return name;
    // Its equation says "all-reduce" already.
    const std::string plain = is_conversion(step.op) ? name.substr(name.find(' ') + 1) : name;
    return fmt::format("{} ({})", step.equation, plain);
  }
  const TensorId id = find_tensor(program, name);
  if (id == kNoTensor) return name;
  const Tensor& tensor = program.tensor(id);
  if (name == tensor.name) return shown_name(tensor);
  return tensor.symbol.empty() || name == tensor.symbol ? name : fmt::format("{} ({})", tensor.symbol, name);
}

}  // namespace shardlens
