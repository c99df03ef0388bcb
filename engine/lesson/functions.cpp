// The table of names and functions: those that read a plan. functions_of_runs.cpp has those that read a run.
#include "engine/lesson/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/config/heads.h"
#include "engine/config/presets.h"
#include "engine/cost/figures.h"
#include "engine/cost/memory_wall.h"
#include "engine/cost/scaling.h"
#include "engine/lesson/evidence.h"
#include "engine/lesson/functions_of_runs.h"
#include "engine/lesson/run_keys.h"

namespace shardlens {
namespace {

Value count(int64_t number) {
  return number_of(static_cast<double>(number));
}
Value bytes_of(double bytes) {
  return number_of(bytes, Counts::Bytes);
}

// --- of the Program

bool is_of_layer(const Step& step) {
  return is_collective(step.op) && step.axis == Axis::Tp;
}

std::optional<Phase> phase_in(const Arguments& arguments, size_t at) {
  return arguments.count() > at ? std::make_optional(parse_phase(arguments.text(at))) : std::nullopt;
}

std::vector<StepId> collectives_of(const Program& program, std::optional<Phase> phase) {
  std::vector<StepId> steps;
  for (const Step& step : program.steps)
    if (is_of_layer(step) && (!phase || step.phase == *phase)) steps.push_back(step.id);
  return steps;
}

Value collectives(const Arguments& a) {
  return count(static_cast<int64_t>(collectives_of(a.program(), phase_in(a, 0)).size()));
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
                                    [&](const Step& step) { return step.block == what; });
  if (is_block)
    return sum([&](const Step& step) { return step.block == what && (!phase || step.phase == *phase); });
  return bytes_of(static_cast<double>(sent_bytes(program, a.step(0))));
}

Value converted(const Arguments& a) {
  return bytes_of(static_cast<double>(converted_bytes(a.program(), a.program().step(a.step(0)), 0)));
}

Value extent_or_shape(const Arguments& a, const Shape& shape) {
  if (a.count() < 2) return shape;
  return count(shape[static_cast<size_t>(a.whole(1, 0, static_cast<int64_t>(shape.size()) - 1))]);
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
  return count(element_count(a.program().tensor(a.tensor(0)).shape));
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

Value hops(const Arguments& a) {
  const Step& step = a.program().step(a.step(0));
  if (!is_collective(step.op)) throw request_error(fmt::format("hops: {} is no collective", step.name));
  return count(ring_hops(collective_of(step.op), group_ranks(a.program(), step)));
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

Value in_order(const Arguments& a) {
  std::vector<std::pair<StepId, std::string>> steps;
  for (size_t i = 0; i < a.count(); ++i) steps.emplace_back(a.step(i), a.text(i));
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  Names names;
  for (auto& [step, name] : steps) names.push_back(std::move(name));
  return names;
}

Value equal_bytes_order(const Arguments& a) {
  std::vector<std::pair<int64_t, std::string>> tensors;
  for (size_t i = 0; i < a.count(); ++i)
    tensors.emplace_back(local_bytes(a.program().tensor(a.tensor(i)), a.program().tp(), 0), a.text(i));
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const auto& x, const auto& y) { return x.first > y.first; });
  Names names;
  for (auto& [bytes, name] : tensors) names.push_back(std::move(name));
  return names;
}

// --- of models and machines

Model model_in(const Arguments& a, size_t at) {
  return a.count() > at ? model_preset(a.text(at)) : a.evidence().settings().model;
}

const Hardware& hardware_in(const Arguments& a, size_t at) {
  const std::string name = a.text(at);
  for (const Hardware& hardware : hardware_presets())
    if (hardware.name == name) return hardware;
  throw unknown_name("hardware", name, hardware_names());
}

double parameters_of(const Model& model) {
  return static_cast<double>(parameter_count(model));
}

Value parameters(const Arguments& a) {
  return number_of(parameters_of(model_in(a, 0)));
}

Value wall(const Arguments& a) {
  const int tp = static_cast<int>(a.whole(1, 1, kLargestDegreeOfLesson));
  return bytes_of(wall_bytes(parameters_of(model_in(a, 0)), tp).total());
}

Value wall_part(const Arguments& a) {
  const std::string name = a.text(0);
  Names known;
  for (const WallPart& part : wall_parts()) {
    if (part.name == name) return bytes_of(part.bytes_per_parameter);
    known.push_back(part.name);
  }
  if (name == "all") {
    double sum = 0;
    for (const WallPart& part : wall_parts()) sum += part.bytes_per_parameter;
    return bytes_of(sum);
  }
  known.emplace_back("all");
  throw unknown_name("part of a parameter's bytes", name, known);
}

Value why_wall_part(const Arguments& a) {
  const std::string name = a.text(0);
  Names known;
  for (const WallPart& part : wall_parts()) {
    if (part.name == name) return part.why;
    known.push_back(part.name);
  }
  throw unknown_name("part of a parameter's bytes", name, known);
}

Value memory_of(const Arguments& a) {
  return bytes_of(static_cast<double>(hardware_in(a, 0).memory_bytes));
}

Value fits(const Arguments& a) {
  const int tp = static_cast<int>(a.whole(1, 1, kLargestDegreeOfLesson));
  return wall_bytes(parameters_of(model_in(a, 0)), tp).total() <=
         static_cast<double>(hardware_in(a, 2).memory_bytes);
}

Value smallest_tp(const Arguments& a) {
  const int tp =
      smallest_degree(parameters_of(model_in(a, 0)), static_cast<double>(hardware_in(a, 1).memory_bytes));
  if (tp == 0) throw request_error("smallest_tp: the model does not fit at any T up to 1024");
  return count(tp);
}

Value heads_on(const Arguments& a) {
  const Program& program = a.program();
  for (const Tensor& tensor : program.tensors)
    if (tensor.value == "attn.context" || tensor.value.ends_with(".attn.context"))
      return count(local_shape(tensor, program.tp(), static_cast<int>(a.whole(0, 0, program.tp() - 1)))[1]);
  throw request_error("heads_on: this block has no attention: add block = \"attention\" or \"layer\"");
}

Value fullest_heads(const Arguments& a) {
  return count(heads_share(a.evidence().settings()).fullest);
}
Value heads_imbalance(const Arguments& a) {
  return number_of(heads_share(a.evidence().settings()).imbalance);
}
Value wasted_heads(const Arguments& a) {
  return number_of(heads_share(a.evidence().settings()).wasted_share);
}

BreakEven break_even_of(const Arguments& a) {
  return break_even(a.evidence().settings(), find_hardware(a.evidence().settings().hardware));
}
Value computing_ratio(const Arguments& a) {
  return number_of(break_even_of(a).ratio());
}
Value needed_ratio(const Arguments& a) {
  return number_of(break_even_of(a).break_even_ratio());
}
Value doubling_pays(const Arguments& a) {
  return break_even_of(a).pays();
}

// --- of the texts

const WorkedFigure& figure_in(const Arguments& a) {
  static const std::vector<WorkedFigure> figures = worked_figures();
  const std::string what = a.text(0);
  Names known;
  for (const WorkedFigure& figure : figures) {
    if (figure.what == what) return figure;
    known.push_back(figure.what);
  }
  throw unknown_name("figure", what, known);
}

Value in_unit_of(const WorkedFigure& figure, double value) {
  return number_of(value, figure.unit == "bytes" ? Counts::Bytes : Counts::Things);
}

Value figure(const Arguments& a) {
  const WorkedFigure& found = figure_in(a);
  return in_unit_of(found, found.exact);
}
Value by_formula(const Arguments& a) {
  const WorkedFigure& found = figure_in(a);
  return in_unit_of(found, found.by_formula);
}
Value printed(const Arguments& a) {
  return figure_in(a).printed;
}
Value reason(const Arguments& a) {
  return figure_in(a).reason;
}

Value mistake_sentence(const Arguments& a) {
  return std::string(
      facts_of(a.count() > 0 ? parse_fault(a.text(0))
               : a.evidence().mistake()
                   ? *a.evidence().mistake()
                   : throw request_error("mistake_sentence: no mistake is planted here: name one"))
          .sentence);
}

// --- of nothing

Value choose(const Arguments& a) {
  const Value condition = a.value(0);
  if (!std::holds_alternative<bool>(condition))
    throw request_error("if: the first argument must be a yes or no");
  return a.value(std::get<bool>(condition) ? 1 : 2);
}

// Other settings for one expression.
Value with(const Arguments& a) {
  if (a.count() % 2 == 0)
    throw request_error("with: needs pairs of a key and a value, and an expression at its end");
  Settings settings = a.evidence().settings();
  std::optional<Fault> mistake = a.evidence().mistake();
  RunChange change;
  TomlValue::Table table;
  for (size_t i = 0; i + 1 < a.count(); i += 2) {
    const std::string key = a.text(i);
    const Value value = a.value(i + 1);
    if (key == "mistake") {
      mistake = parse_fault(a.text(i + 1));
      continue;
    }
    TomlValue toml;
    if (const LessonNumber* number = std::get_if<LessonNumber>(&value)) {
      if (std::floor(number->value) == number->value && std::abs(number->value) < 1e15)
        toml.is = static_cast<int64_t>(number->value);
      else
        toml.is = number->value;
    } else {
      toml.is = to_text(value);
    }
    for (const RunKey& row : run_keys())
      if (row.name == key) {
        try {
          row.apply(settings, toml);
        } catch (const Error& error) {
          throw request_error(fmt::format("with: {}: {}", key, error.what()));
        }
      }
    if (!is_run_key(key)) throw unknown_name("setting in with()", key, run_key_names());
  }
  Evidence& other = a.where().store.of(settings, mistake);
  return a.value(a.count() - 1, {a.where().store, other, a.where().drawn});
}

Value most(const Arguments& a) {
  Value best = a.value(0);
  for (size_t i = 0; i < a.count(); ++i)
    if (a.number(i) > std::get<LessonNumber>(number_of(a.number(0))).value &&
        a.number(i) > std::get<LessonNumber>(best).value)
      best = a.value(i);
  return best;
}
Value least(const Arguments& a) {
  double found = a.number(0);
  size_t at = 0;
  for (size_t i = 1; i < a.count(); ++i)
    if (a.number(i) < found) found = a.number(i), at = i;
  return a.value(at);
}
Value absolute(const Arguments& a) {
  const Value value = a.value(0);
  return number_of(std::abs(a.number(0)), std::holds_alternative<LessonNumber>(value)
                                              ? std::get<LessonNumber>(value).counts
                                              : Counts::Things);
}
Value rounded(const Arguments& a) {
  const double scale = std::pow(10.0, a.count() > 1 ? static_cast<double>(a.whole(1, 0, 9)) : 0.0);
  return number_of(std::round(a.number(0) * scale) / scale);
}
Value percent(const Arguments& a) {
  const double share = a.number(0) * 100;
  return fmt::format("{:.{}f} %", share, std::abs(share) < 10 && share != std::round(share) ? 1 : 0);
}
Value exactly(const Arguments& a) {
  const double value = a.number(0);
  return std::floor(value) == value ? fmt::format("{:.0f}", value) : fmt::format("{:.9g}", value);
}
Value digits(const Arguments& a) {
  return fmt::format("{:.{}g}", a.number(0), a.whole(1, 1, 17));
}
Value square_root(const Arguments& a) {
  if (a.number(0) < 0) throw request_error("sqrt: the number is below zero");
  return number_of(std::sqrt(a.number(0)));
}
Value plain(const Arguments& a) {
  return number_of(a.number(0));
}
Value length(const Arguments& a) {
  const Value value = a.value(0);
  if (const Names* names = std::get_if<Names>(&value)) return count(static_cast<int64_t>(names->size()));
  if (const Shape* extents = std::get_if<Shape>(&value)) return count(static_cast<int64_t>(extents->size()));
  throw request_error(
      fmt::format("count: counts a list, and \"{}\" is {}", shown(to_text(value)), kind_of(value)));
}
Value item(const Arguments& a) {
  const Value value = a.value(0);
  const Names* names = std::get_if<Names>(&value);
  if (!names || names->empty())
    throw request_error("item: the first argument must be a list with something in it");
  return (*names)[static_cast<size_t>(a.whole(1, 1, static_cast<int64_t>(names->size())) - 1)];
}

// clang-format off
constexpr Function kFunctions[] = {
    {"collectives", "[phase]", 0, 1, Needs::Plan, "how many collectives the T ranks make, in one phase or in all", collectives},
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
    {"explain", "step or tensor", 1, 1, Needs::Plan, "why a collective stands there, or why none stands after a tensor", explained},
    {"equation", "step", 1, 1, Needs::Plan, "the step's equation", equation},
    {"note", "step", 1, 1, Needs::Plan, "the fact about a step that the Stage notes: \"column-parallel\"", note},
    {"symbol", "tensor", 1, 1, Needs::Plan, "the tensor's letter in the equations", symbol},
    {"output", "step", 1, 1, Needs::Plan, "the tensor that a step writes", output},
    {"partner", "step", 1, 1, Needs::Plan, "the other half of an f or g, in the other phase", partner},
    {"conjugates", "\"f\" or \"g\"[, phase]", 1, 2, Needs::Plan, "the steps that are f, or g", conjugate},
    {"steps", "[phase]", 0, 1, Needs::Plan, "all steps, in order", steps_of},
    {"tensors", "layout[, phase]", 1, 2, Needs::Plan, "the tensors that steps write in a layout: \"Partial\", \"Sharded\"", with_layout},
    {"in_order", "step, step, …", 2, 12, Needs::Plan, "these steps in the order in which they run", in_order},
    {"by_size", "tensor, tensor, …", 2, 12, Needs::Plan, "these tensors by a rank's bytes, the largest first", equal_bytes_order},
    {"parameters", "[model]", 0, 1, Needs::Plan, "the parameters of a model; of the scene's own if none is named", parameters},
    {"wall_bytes", "model, T", 2, 2, Needs::Plan, "what mixed-precision Adam keeps on each rank for a whole model", wall},
    {"parameter_bytes", "part", 1, 1, Needs::Plan, "bytes kept for each parameter: \"weights\", …, or \"all\"", wall_part},
    {"why_bytes", "part", 1, 1, Needs::Plan, "why these bytes are kept", why_wall_part},
    {"memory", "device", 1, 1, Needs::Plan, "the memory of a device", memory_of},
    {"fits", "model, T, device", 3, 3, Needs::Plan, "do wall_bytes(model, T) fit into the device?", fits},
    {"smallest_tp", "model, device", 2, 2, Needs::Plan, "the smallest power of two for T at which the model fits", smallest_tp},
    {"heads_on", "rank", 1, 1, Needs::Plan, "query heads that a rank computes with", heads_on},
    {"fullest_heads", "", 0, 0, Needs::Plan, "query heads of the rank that has most", fullest_heads},
    {"heads_imbalance", "", 0, 0, Needs::Plan, "heads of the fullest rank against the mean", heads_imbalance},
    {"wasted_heads", "", 0, 0, Needs::Plan, "the share of heads that are zeros", wasted_heads},
    {"computing_ratio", "", 0, 0, Needs::Plan, "computing against communicating in a layer, on T ranks of the scene's hardware", computing_ratio},
    {"needed_ratio", "", 0, 0, Needs::Plan, "the ratio from which 2T ranks over two nodes are quicker than T in one", needed_ratio},
    {"doubling_pays", "", 0, 0, Needs::Plan, "are 2T ranks over two nodes quicker than T in one?", doubling_pays},
    {"figure", "name", 1, 1, Needs::Plan, "a figure that a text prints, counted exactly (the names: plan --figures)", figure},
    {"by_formula", "name", 1, 1, Needs::Plan, "the same by the text's own formula", by_formula},
    {"printed", "name", 1, 1, Needs::Plan, "the same as the text prints it", printed},
    {"reason", "name", 1, 1, Needs::Plan, "why the two differ", reason},
    {"mistake_sentence", "[mistake]", 0, 1, Needs::Plan, "what a planted mistake is", mistake_sentence},
    {"value", "tensor, row, column[, rank]", 3, 4, Needs::Run, "a number of a rank's piece, as a matrix, from 0", value_of_run},
    {"right_value", "tensor, row, column", 3, 3, Needs::Run, "the same number of the full tensor at T = 1", right_value_of_run},
    {"error", "tensor", 1, 1, Needs::Run, "its relative error: against T = 1, or with a mistake against the sound run", error_of_run},
    {"agrees", "", 0, 0, Needs::Run, "is every tensor within its bound, and every Replicated one the same on all ranks?", agrees_of_run},
    {"first_wrong", "", 0, 0, Needs::Run, "the first tensor that is wrong, in the order of the steps", first_wrong_of_run},
    {"wrong", "[phase]", 0, 1, Needs::Run, "how many tensors are wrong", wrong_of_run},
    {"compared", "[phase]", 0, 1, Needs::Run, "how many tensors were compared", compared_of_run},
    {"ranks_agree", "tensor", 1, 1, Needs::Run, "do all ranks hold the same bits?", ranks_agree_of_run},
    {"found_by", "[steps]", 0, 1, Needs::Training, "the check that finds the mistake first", found_by_of_run},
    {"sees", "check[, steps]", 1, 2, Needs::Training, "does this check find the mistake? The checks: \"activations against a right run\", …", sees_of_run},
    {"looks_healthy", "steps", 1, 1, Needs::Training, "can the loss curve of so many steps not be told from a sound one?", looks_healthy_of_run},
    {"loss", "step", 1, 1, Needs::Training, "the loss of a training step, from 1, on the built-in text", loss_of_run},
    {"sound_loss", "step", 1, 1, Needs::Training, "the same without the mistake", sound_loss_of_run},
    {"time", "step", 1, 1, Needs::Run, "measured seconds of a step, without waiting; of the slowest rank", time_of_run},
    {"waited", "step", 1, 1, Needs::Run, "measured seconds that a collective waited for its last rank", waited_of_run},
    {"pass_time", "[phase]", 0, 1, Needs::Run, "measured seconds of a pass", pass_time_of_run},
    {"predicted_time", "step", 1, 1, Needs::Plan, "the cost model's seconds of a step, on the scene's hardware", predicted_time_of_plan},
    {"waiting_ranks", "", 0, 0, Needs::Run, "ranks that waited for the late one", waiting_ranks_of_run},
    {"lost_to_late", "", 0, 0, Needs::Run, "seconds that the others waited for the late rank, summed", lost_to_late_of_run},
    {"with", "key, value, …, expression", 3, 13, Needs::Nothing, "the expression for other settings: with(\"tp\", 8, bytes()); the keys are those of [run], and \"mistake\"", with},
    {"if", "condition, then, else", 3, 3, Needs::Nothing, "one of two values", choose},
    {"max", "number, number, …", 1, 20, Needs::Nothing, "the largest", most},
    {"min", "number, number, …", 1, 20, Needs::Nothing, "the smallest", least},
    {"abs", "number", 1, 1, Needs::Nothing, "its size", absolute},
    {"sqrt", "number", 1, 1, Needs::Nothing, "its square root", square_root},
    {"round", "number[, places]", 1, 2, Needs::Nothing, "rounded to so many places", rounded},
    {"percent", "number", 1, 1, Needs::Nothing, "0.25 as \"25 %\"", percent},
    {"exactly", "number", 1, 1, Needs::Nothing, "all its digits, without a unit", exactly},
    {"digits", "number, count", 2, 2, Needs::Nothing, "so many significant digits, without a unit", digits},
    {"plain", "number", 1, 1, Needs::Nothing, "the number without its unit: bytes become a count", plain},
    {"count", "list", 1, 1, Needs::Nothing, "how many are in it", length},
    {"item", "list, number", 2, 2, Needs::Nothing, "its first, second, …", item},
};

#define SETTING(expression) [](const Surroundings& w) { const Settings& s = w.evidence.settings(); return expression; }
const KnownName kNames[] = {
    {"ranks", "T, the ranks that share a layer", true, SETTING(count(s.tp))},
    {"replicas", "D, the copies of those T", true, SETTING(count(s.dp))},
    {"split", "the split's name", true, SETTING(Value(s.split.name))},
    {"model", "the model's name", true, SETTING(Value(s.model.name))},
    {"model_title", "the model's title", true, SETTING(Value(s.model.title))},
    {"hidden", "the model's width", true, SETTING(count(s.model.hidden))},
    {"ffn", "the MLP's width", true, SETTING(count(s.model.ffn))},
    {"heads", "query heads", true, SETTING(count(s.model.heads))},
    {"key_heads", "key and value heads", true, SETTING(count(s.model.key_heads()))},
    {"head_dim", "width of a head", true, SETTING(count(s.model.head_dim()))},
    {"layers", "the model's layers", true, SETTING(count(s.model.layers))},
    {"vocab", "its vocabulary", true, SETTING(count(s.model.vocab))},
    {"padded_vocab", "the vocabulary, padded for T", true, SETTING(count(padded_vocab(s.model, s.tp)))},
    {"batch", "sequences", true, SETTING(count(s.batch))},
    {"seq", "tokens of a sequence", true, SETTING(count(s.seq))},
    {"tokens", "tokens that one replica works on at a time", true, SETTING(count(s.tokens()))},
    {"hardware", "the machine that times are predicted for", true, SETTING(Value(s.hardware))},
    {"mistake", "the planted mistake; \"none\"", true,
     [](const Surroundings& w) { return Value(w.evidence.mistake() ? to_string(*w.evidence.mistake()) : std::string("none")); }},
    {"forward", "the phase", false, [](const Surroundings&) { return Value(to_string(Phase::Forward)); }},
    {"backward", "the phase", false, [](const Surroundings&) { return Value(to_string(Phase::Backward)); }},
    {"update", "the phase: the optimizer", false, [](const Surroundings&) { return Value(to_string(Phase::Update)); }},
    {"yes", "true", false, [](const Surroundings&) { return Value(true); }},
    {"no", "false", false, [](const Surroundings&) { return Value(false); }},
};
#undef SETTING
// clang-format on

const char* word_of_needs(Needs needs) {
  return needs == Needs::Plan       ? "plan"
         : needs == Needs::Run      ? "run"
         : needs == Needs::Training ? "training"
                                    : "";
}

}  // namespace

std::span<const Function> functions() {
  return kFunctions;
}

std::span<const KnownName> known_names() {
  return kNames;
}

const Function* find_function(const std::string& name) {
  const auto found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                  [&](const Function& one) { return name == one.name; });
  return found == std::end(kFunctions) ? nullptr : found;
}

const KnownName* find_known_name(const std::string& name) {
  const auto found = std::find_if(std::begin(kNames), std::end(kNames),
                                  [&](const KnownName& one) { return name == one.name; });
  return found == std::end(kNames) ? nullptr : found;
}

std::string functions_as_markdown() {
  std::string out = "| function | yields | needs |\n| --- | --- | --- |\n";
  for (const Function& one : kFunctions)
    out += fmt::format("| `{}({})` | {} | {} |\n", one.name, one.arguments, one.sentence,
                       word_of_needs(one.needs));
  out += "\n| name | is |\n| --- | --- |\n";
  for (const KnownName& one : kNames) out += fmt::format("| `{}` | {} |\n", one.name, one.sentence);
  return out;
}

}  // namespace shardlens
