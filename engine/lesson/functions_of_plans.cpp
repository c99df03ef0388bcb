// Functions that read a Program and its memory.
#include "engine/lesson/function_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/cost/price.h"
#include "engine/lesson/evidence.h"

namespace shardlens {
namespace {

bool is_of_layer(const Step& step) {
  return is_collective(step.op) && step.axis == Axis::Tp;
}

std::vector<StepId> collectives_of(const Program& program, std::optional<Phase> phase) {
  std::vector<StepId> steps;
  for (const Step& step : program.steps)
    if (is_of_layer(step) && (!phase || step.phase == *phase)) steps.push_back(step.id);
  return steps;
}

// How many of a phase's collectives, and of its part if there is a second argument, are counted.
Value count_collectives(const Arguments& a, const auto& counts) {
  const std::string part = a.count() < 2 ? "" : a.text(1);
  const std::vector<StepId> steps = collectives_of(a.program(), phase_in(a, 0));
  return things(std::count_if(steps.begin(), steps.end(), [&](StepId id) {
    const Step& step = a.program().step(id);
    return counts(step) && (a.count() < 2 || to_string(step.part) == part);
  }));
}

Value collectives(const Arguments& a) {
  return count_collectives(a, [](const Step&) { return true; });
}

Value all_reduces(const Arguments& a) {
  return count_collectives(a,
                           [](const Step& step) { return collective_of(step.op) == Collective::AllReduce; });
}

Value collective(const Arguments& a) {
  const std::vector<StepId> steps = collectives_of(a.program(), phase_in(a, 1));
  if (steps.empty()) throw request_error("collective: the ranks do not meet here");
  return a.program()
      .step(steps[static_cast<size_t>(a.whole(0, 1, static_cast<int64_t>(steps.size())) - 1)])
      .name;
}

// A phase's word, a part's name ("mlp", "loss") or a step.
Value sent(const Arguments& a) {
  const Program& program = a.program();
  const auto sum = [&](const auto& counts) {
    int64_t bytes = 0;
    for (const Step& step : program.steps)
      if (is_of_layer(step) && counts(step)) bytes += sent_bytes(program, step.id);
    return bytes_of(static_cast<double>(bytes));
  };
  if (a.count() == 0) return sum([](const Step&) { return true; });
  const std::string what = a.text(0);
  for (const Phase phase : {Phase::Forward, Phase::Backward, Phase::Update})
    if (what == to_string(phase)) return sum([phase](const Step& step) { return step.phase == phase; });
  const std::optional<Phase> phase = phase_in(a, 1);
  const bool is_block = std::any_of(program.steps.begin(), program.steps.end(),
                                    [&](const Step& step) { return to_string(step.part) == what; });
  if (is_block)
    return sum(
        [&](const Step& step) { return to_string(step.part) == what && (!phase || step.phase == *phase); });
  return bytes_of(static_cast<double>(sent_bytes(program, a.step(0))));
}

Value converted(const Arguments& a) {
  return bytes_of(static_cast<double>(converted_bytes(a.program(), a.program().step(a.step(0)), 0)));
}

Value extent_or_shape(const Arguments& a, const Shape& shape) {
  if (a.count() < 2) return shape;
  return things(shape[static_cast<size_t>(a.whole(1, 0, static_cast<int64_t>(shape.size()) - 1))]);
}

Value shape(const Arguments& a) {
  return extent_or_shape(a, a.program().tensor(a.tensor(0)).shape);
}

int rank_in(const Arguments& a, size_t at) {
  return a.count() > at ? static_cast<int>(a.whole(at, 0, a.program().tp() - 1)) : 0;
}

Value local(const Arguments& a) {
  return extent_or_shape(a, local_shape(a.program().tensor(a.tensor(0)), a.program().tp(), rank_in(a, 2)));
}

Value layout(const Arguments& a) {
  return to_string(a.program().tensor(a.tensor(0)).layout);
}

Value elements(const Arguments& a) {
  return things(element_count(a.program().tensor(a.tensor(0)).shape));
}

Value tensor_bytes(const Arguments& a) {
  return bytes_of(static_cast<double>(a.program().tensor(a.tensor(0)).bytes()));
}

Value rank_bytes(const Arguments& a) {
  return bytes_of(
      static_cast<double>(local_bytes(a.program().tensor(a.tensor(0)), a.program().tp(), rank_in(a, 1))));
}

Value memory_of_kind(const Arguments& a) {
  const BytesByKind& arenas = a.evidence().plan().memory[static_cast<size_t>(rank_in(a, 1))].arena_bytes;
  if (a.count() == 0) return bytes_of(static_cast<double>(total_bytes(arenas)));
  return bytes_of(static_cast<double>(arenas[static_cast<size_t>(parse_memory_kind(a.text(0)))]));
}

// The most at once, wherever they lie: an arena can lend what it does not need yet.
Value held_of_kind(const Arguments& a) {
  const auto kind = static_cast<size_t>(parse_memory_kind(a.text(0)));
  const MemoryPlan& memory = a.evidence().plan().memory[static_cast<size_t>(rank_in(a, 1))];
  return bytes_of(static_cast<double>(memory.held_bytes[kind]));
}

Value explained(const Arguments& a) {
  const Program& program = a.program();
  const std::string name = a.text(0);
  const bool is_step = std::any_of(program.steps.begin(), program.steps.end(),
                                   [&](const Step& step) { return step.name == name; });
  const std::string text = is_step ? explain(program, step_named(program, name)) : "";
  if (!text.empty()) return text;
  const TensorId tensor = is_step ? program.step(step_named(program, name)).outputs.front() : a.tensor(0);
  const std::string none = explain_no_collective(program, tensor);
  if (!none.empty()) return none;
  const StepId producer = producer_of(program, tensor);
  if (producer >= 0)
    if (const std::string of_producer = explain(program, producer); !of_producer.empty()) return of_producer;
  throw request_error(
      fmt::format("explain: there is nothing to say about \"{}\": name a collective, or a tensor between two "
                  "steps",
                  shown(name)));
}

Value equation(const Arguments& a) {
  return a.program().step(a.step(0)).equation;
}

Value note(const Arguments& a) {
  return note_of(a.program(), a.program().step(a.step(0)));
}

Value symbol(const Arguments& a) {
  return a.program().tensor(a.tensor(0)).symbol;
}

Value output(const Arguments& a) {
  return a.program().tensor(a.program().step(a.step(0)).outputs.front()).name;
}

Value writer(const Arguments& a) {
  const TensorId tensor = a.tensor(0);
  const StepId step = producer_of(a.program(), tensor);
  if (step < 0)
    throw request_error(
        fmt::format("writer: no step writes \"{}\": it is there before the run", shown(a.text(0))));
  return a.program().step(step).name;
}

Value hops(const Arguments& a) {
  const Step& step = a.program().step(a.step(0));
  if (!is_collective(step.op)) throw request_error(fmt::format("hops: {} is no collective", step.name));
  return things(ring_hops(collective_of(step.op), group_ranks(a.program(), step)));
}

Value partner(const Arguments& a) {
  const Step& step = a.program().step(a.step(0));
  if (step.pair < 0) throw request_error(fmt::format("partner: {} is neither f nor g", step.name));
  return a.program().step(step.pair).name;
}

// "f" or "g", and a phase.
Value conjugate(const Arguments& a) {
  const Conjugate wanted = parse_conjugate(a.text(0));
  const std::optional<Phase> phase = phase_in(a, 1);
  Names names;
  for (const Step& step : a.program().steps)
    if (step.conjugate == wanted && (!phase || step.phase == *phase)) names.push_back(step.name);
  return names;
}

Value steps_of(const Arguments& a) {
  const std::optional<Phase> phase = phase_in(a, 0);
  Names names;
  for (const Step& step : a.program().steps)
    if (!phase || step.phase == *phase) names.push_back(step.name);
  return names;
}

Value with_layout(const Arguments& a) {
  const std::string wanted = a.text(0);
  const std::optional<Phase> phase = phase_in(a, 1);
  Names names;
  for (const Step& step : a.program().steps) {
    if (phase && step.phase != *phase) continue;
    for (const TensorId id : step.outputs)
      if (to_string(a.program().tensor(id).layout).starts_with(wanted))
        names.push_back(a.program().tensor(id).name);
  }
  return names;
}

/// The names in the order of their keys, the smallest first. Equal keys share a place.
Value ordered(std::vector<std::pair<int64_t, std::string>> names) {
  std::stable_sort(names.begin(), names.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  Ordered order;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == 0 || names[i].first != names[i - 1].first) order.places.emplace_back();
    order.places.back().push_back(std::move(names[i].second));
  }
  return order;
}

Value in_order(const Arguments& a) {
  std::vector<std::pair<int64_t, std::string>> steps;
  for (size_t i = 0; i < a.count(); ++i) steps.emplace_back(a.step(i), a.text(i));
  return ordered(std::move(steps));
}

Value by_size(const Arguments& a) {
  std::vector<std::pair<int64_t, std::string>> tensors;
  for (size_t i = 0; i < a.count(); ++i)
    tensors.emplace_back(-local_bytes(a.program().tensor(a.tensor(i)), a.program().tp(), 0), a.text(i));
  return ordered(std::move(tensors));
}

// clang-format off
constexpr Function kOfPlans[] = {
    {"collectives", "[phase[, part]]", 0, 2, Needs::Plan, "how many collectives the T ranks make: in a phase, in its part such as \"mlp\" or \"loss\", or in all", collectives},
    {"all_reduces", "[phase[, part]]", 0, 2, Needs::Plan, "how many of them are all-reduces", all_reduces},
    {"collective", "number[, phase]", 1, 2, Needs::Plan, "the name of the first, second, … collective", collective},
    {"sent_bytes", "[step, phase or part[, phase]]", 0, 2, Needs::Plan, "bytes that each rank sends: in a step, a phase, a part such as \"mlp\" or \"loss\", or in all", sent},
    {"converted_bytes", "step", 1, 1, Needs::Plan, "bytes of the whole tensor that a collective converts", converted},
    {"hops", "step", 1, 1, Needs::Plan, "hops of a ring in this collective", hops},
    {"shape", "tensor[, dimension]", 1, 2, Needs::Plan, "the full shape, or one extent of it, from 0", shape},
    {"local_shape", "tensor[, dimension[, rank]]", 1, 3, Needs::Plan, "the shape of one rank's piece, or one extent of it", local},
    {"layout", "tensor", 1, 1, Needs::Plan, "\"Replicated\", \"Sharded(1)\", \"Partial\"", layout},
    {"elements", "tensor", 1, 1, Needs::Plan, "numbers in the full tensor", elements},
    {"tensor_bytes", "tensor", 1, 1, Needs::Plan, "bytes of the full tensor", tensor_bytes},
    {"local_bytes", "tensor[, rank]", 1, 2, Needs::Plan, "bytes of one rank's piece", rank_bytes},
    {"bytes", "[kind[, rank]]", 0, 2, Needs::Plan, "a rank's planned memory: of a kind such as \"weights\" or \"activations\", or of all", memory_of_kind},
    {"held_bytes", "kind[, rank]", 1, 2, Needs::Plan, "the most bytes of a kind that a rank holds at once, also those in another kind's memory", held_of_kind},
    {"explain", "step or tensor", 1, 1, Needs::Plan, "why a collective stands there, or why none stands after a tensor", explained},
    {"equation", "step", 1, 1, Needs::Plan, "the step's equation", equation},
    {"note", "step", 1, 1, Needs::Plan, "the fact about a step that the Stage notes: \"column-parallel\"", note},
    {"symbol", "tensor", 1, 1, Needs::Plan, "the tensor's letter in the equations", symbol},
    {"output", "step", 1, 1, Needs::Plan, "the tensor that a step writes", output},
    {"writer", "tensor", 1, 1, Needs::Plan, "the step that writes a tensor", writer},
    {"partner", "step", 1, 1, Needs::Plan, "the other half of an f or g, in the other phase", partner},
    {"conjugates", "\"f\" or \"g\"[, phase]", 1, 2, Needs::Plan, "the steps that are f, or g", conjugate},
    {"steps", "[phase]", 0, 1, Needs::Plan, "all steps, in order", steps_of},
    {"tensors", "layout[, phase]", 1, 2, Needs::Plan, "the tensors that steps write in a layout: \"Partial\", \"Sharded\"", with_layout},
    {"in_order", "step, step, …", 2, 12, Needs::Plan, "these steps in the order in which they run", in_order},
    {"by_size", "tensor, tensor, …", 2, 12, Needs::Plan, "these tensors by a rank's bytes, the largest first; equal ones in any order", by_size},
};
// clang-format on

}  // namespace

std::span<const Function> functions_of_plans() {
  return kOfPlans;
}

}  // namespace shardlens
