// Steps as rows of text, as a filtered list and as JSON.
#include "ui/panels/program/program_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/io/json_text.h"
#include "ui/widgets/format.h"
#include "ui/widgets/word_filter.h"

namespace shardlens::ui {
namespace {

std::string phase_word(Phase phase) {
  return to_string(phase);
}

StepCost cost_of(const Plan& plan, StepId step) {
  return plan.cost.empty() ? StepCost{} : plan.cost.front()[static_cast<size_t>(step)];
}

nlohmann::ordered_json tensor_json(const Program& program, TensorId id) {
  const Tensor& tensor = program.tensor(id);
  return {{"name", tensor.name},
          {"symbol", tensor.symbol},
          {"shape", tensor.shape},
          {"dtype", to_string(tensor.dtype)},
          {"layout", to_string(tensor.layout)},
          {"kind", to_string(tensor.kind)},
          {"full_bytes", tensor.bytes()},
          {"rank0_shape", local_shape(tensor, program.tp(), 0)},
          {"rank0_bytes", local_bytes(tensor, program.tp(), 0)}};
}

}  // namespace

std::string mark_of(const Step& step) {
  return step.conjugate == Conjugate::F ? "f" : step.conjugate == Conjugate::G ? "g" : "";
}

std::string shape_per_rank(const Program& program, const Tensor& tensor) {
  const Shape first = local_shape(tensor, program.tp(), 0);
  const Shape last = local_shape(tensor, program.tp(), program.tp() - 1);
  return to_string(first) + (first == last ? "" : " …");
}

std::vector<ProgramRow> program_rows(const Plan& plan) {
  const Program& program = plan.program;
  std::vector<ProgramRow> rows;
  for (const Step& step : program.steps) {
    const Tensor& output = program.tensor(step.outputs.front());
    const StepCost cost = cost_of(plan, step.id);
    const int64_t sent = sent_bytes(program, step.id);
    std::string more;
    if (step.outputs.size() > 1) more = " and " + std::to_string(step.outputs.size() - 1) + " more";
    rows.push_back({step.id,
                    {std::to_string(step.id), phase_word(step.phase), mark_of(step), step.name, step.equation,
                     output.name + " : " + to_string(output.shape) + more, to_string(output.layout),
                     shape_per_rank(program, output),
                     cost.flops > 0 ? format_flop_count(static_cast<double>(cost.flops)) : "",
                     sent > 0 ? bytes_text(static_cast<double>(sent)) : ""}});
  }
  return rows;
}

std::vector<ProgramRow> filtered(const std::vector<ProgramRow>& rows, const std::string& filter) {
  std::vector<ProgramRow> kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept), [&](const ProgramRow& row) {
    return matches_words(fmt::format("{}", fmt::join(row.cells, " ")), filter);
  });
  return kept;
}

TextTable as_table(const std::vector<ProgramRow>& rows) {
  TextTable table{{{"#", Align::Right},
                   {"phase"},
                   {"f/g"},
                   {"name"},
                   {"equation"},
                   {"output : shape"},
                   {"layout"},
                   {"per rank"},
                   {"FLOPs per rank", Align::Right},
                   {"sent per rank", Align::Right}},
                  {}};
  for (const ProgramRow& row : rows) table.rows.push_back(row.cells);
  return table;
}

TextTable tensor_table(const Program& program, const Step& step) {
  TextTable table{{{"role"},
                   {"tensor"},
                   {"name"},
                   {"layout"},
                   {"shape"},
                   {"per rank"},
                   {"kind"},
                   {"bytes per rank", Align::Right}},
                  {}};
  const auto add = [&](TensorId id, const char* role) {
    const Tensor& tensor = program.tensor(id);
    table.rows.push_back({role, tensor.symbol, tensor.name, to_string(tensor.layout), to_string(tensor.shape),
                          shape_per_rank(program, tensor), to_string(tensor.kind),
                          grouped_text(local_bytes(tensor, program.tp(), 0))});
  };
  for (const TensorId id : step.inputs) add(id, "reads");
  for (const TensorId id : step.outputs) add(id, "writes");
  return table;
}

std::string as_json(const Plan& plan, const std::vector<ProgramRow>& rows) {
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (const ProgramRow& row : rows) {
    const Step& step = plan.program.step(row.step);
    nlohmann::ordered_json inputs = nlohmann::ordered_json::array(),
                           outputs = nlohmann::ordered_json::array();
    for (TensorId id : step.inputs) inputs.push_back(tensor_json(plan.program, id));
    for (TensorId id : step.outputs) outputs.push_back(tensor_json(plan.program, id));
    steps.push_back({{"step", step.id},
                     {"phase", phase_word(step.phase)},
                     {"conjugate", mark_of(step)},
                     {"op", to_string(step.op)},
                     {"name", step.name},
                     {"equation", step.equation},
                     {"inputs", inputs},
                     {"outputs", outputs},
                     {"flops", cost_of(plan, step.id).flops},
                     {"sent_bytes", sent_bytes(plan.program, step.id)}});
  }
  return json_text(steps, 2);
}

}  // namespace shardlens::ui
