// Functions that read models, machines and the figures that texts print.
#include "engine/lesson/function_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/suggest.h"
#include "engine/config/heads.h"
#include "engine/config/presets.h"
#include "engine/config/validate.h"
#include "engine/cost/figures.h"
#include "engine/cost/memory_wall.h"
#include "engine/cost/scaling.h"
#include "engine/lesson/evidence.h"
#include "engine/planner/parameters.h"

namespace shardlens {
namespace {

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
  const int tp = static_cast<int>(a.whole(1, 1, kLargestDegree));
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
  const int tp = static_cast<int>(a.whole(1, 1, kLargestDegree));
  return wall_bytes(parameters_of(model_in(a, 0)), tp).total() <=
         static_cast<double>(hardware_in(a, 2).memory_bytes);
}

Value smallest_tp(const Arguments& a) {
  const int tp =
      smallest_degree(parameters_of(model_in(a, 0)), static_cast<double>(hardware_in(a, 1).memory_bytes));
  if (tp == 0) throw request_error("smallest_tp: the model does not fit at any T up to 1024");
  return things(tp);
}

int64_t heads_of(const Program& program, int rank) {
  for (const Tensor& tensor : program.tensors) {
    if (tensor.role != Role::Context || tensor.kind != MemoryKind::Activation) continue;
    const Shape shape = local_shape(tensor, program.tp(), rank);
    return element_count(shape) / shape.front() /
           shape.back();  // with grouped queries [.., keys, queries, ..]
  }
  throw request_error("this block has no attention: add block = \"attention\" or \"layer\"");
}

Value heads_on(const Arguments& a) {
  return things(heads_of(a.program(), static_cast<int>(a.whole(0, 0, a.program().tp() - 1))));
}

Value fullest_ranks(const Arguments& a) {
  const Program& program = a.program();
  int64_t most = 0;
  for (int rank = 0; rank < program.tp(); ++rank) most = std::max(most, heads_of(program, rank));
  Names ranks;
  for (int rank = 0; rank < program.tp(); ++rank)
    if (heads_of(program, rank) == most) ranks.push_back(std::to_string(rank));
  return ranks;
}

Value fullest_heads(const Arguments& a) {
  return things(heads_share(a.evidence().settings()).fullest);
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

// clang-format off
constexpr Function kOfModels[] = {
    {"parameters", "[model]", 0, 1, Needs::Plan, "the parameters of a model; of the scene's own if none is named", parameters},
    {"wall_bytes", "model, T", 2, 2, Needs::Plan, "what mixed-precision Adam keeps on each rank for a whole model", wall},
    {"parameter_bytes", "part", 1, 1, Needs::Plan, "bytes kept for each parameter: \"weights\", …, or \"all\"", wall_part},
    {"why_bytes", "part", 1, 1, Needs::Plan, "why these bytes are kept", why_wall_part},
    {"memory", "device", 1, 1, Needs::Plan, "the memory of a device", memory_of},
    {"fits", "model, T, device", 3, 3, Needs::Plan, "do wall_bytes(model, T) fit into the device?", fits},
    {"smallest_tp", "model, device", 2, 2, Needs::Plan, "the smallest power of two for T at which the model fits", smallest_tp},
    {"heads_on", "rank", 1, 1, Needs::Plan, "query heads that a rank computes with", heads_on},
    {"fullest_ranks", "", 0, 0, Needs::Plan, "the ranks that have most", fullest_ranks},
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
};
// clang-format on

}  // namespace

std::span<const Function> functions_of_models() {
  return kOfModels;
}

}  // namespace shardlens
