// Functions that run one operation on terms or pieces of its operand, and compare.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/suggest.h"
#include "engine/laboratory/laboratory.h"
#include "engine/lesson/evidence.h"
#include "engine/lesson/function_tables.h"

namespace shardlens {
namespace {

struct LaboratoryRun {
  const lab::Way& way;
  lab::Outcome outcome;
};

const lab::Experiment& operation_at(const Arguments& a, size_t at) {
  const std::string name = a.text(at);
  Names names;
  for (const lab::Experiment& experiment : lab::experiments()) {
    if (experiment.name == name) return experiment;
    names.push_back(experiment.name);
  }
  throw unknown_name("operation", name, names);
}

// On as many ranks as the scene has, as far as the laboratory has them.
int laboratory_ranks(const Arguments& a) {
  return std::clamp(a.evidence().settings().tp, lab::kFewestRanks, lab::kMostRanks);
}

LaboratoryRun run_laboratory(const Arguments& a) {
  const lab::Experiment& experiment = operation_at(a, 0);
  const int64_t number = a.whole(1, 1, static_cast<int64_t>(experiment.ways.size()));
  const lab::Way& way = experiment.ways[static_cast<size_t>(number - 1)];
  return {way, lab::run(experiment, way, laboratory_ranks(a))};
}

Value laboratory_verdict(const Arguments& a) {
  return to_string(run_laboratory(a).outcome.verdict);
}

Value laboratory_difference(const Arguments& a) {
  return number_of(run_laboratory(a).outcome.largest_difference);
}

Value laboratory_because(const Arguments& a) {
  return run_laboratory(a).way.why;
}

Value laboratory_operations(const Arguments& a) {
  const std::string layout = a.text(0), verdict = a.text(1);
  Names names;
  for (const lab::Experiment& experiment : lab::experiments())
    if (std::any_of(experiment.ways.begin(), experiment.ways.end(), [&](const lab::Way& way) {
          return to_string(way.layout) == layout &&
                 to_string(lab::run(experiment, way, laboratory_ranks(a)).verdict) == verdict;
        }))
      names.push_back(experiment.name);
  return names;
}

constexpr Function kOfLaboratory[] = {
    {"laboratory_verdict", "operation, way", 2, 2, Needs::Run,
     "what the page `algebra` finds for an operation and one of its ways, from 1: `exact`, `rounding` or "
     "`wrong`",
     laboratory_verdict},
    {"laboratory_difference", "operation, way", 2, 2, Needs::Run, "the largest difference there",
     laboratory_difference},
    {"laboratory_because", "operation, way", 2, 2, Needs::Run, "why it is so", laboratory_because},
    {"laboratory_operations", "layout, verdict", 2, 2, Needs::Run,
     "the operations that have a way with this layout and this verdict", laboratory_operations},
};

}  // namespace

std::span<const Function> functions_of_laboratory() {
  return kOfLaboratory;
}

}  // namespace shardlens
