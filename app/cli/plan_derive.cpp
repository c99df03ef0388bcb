// Prints the derivation of one step of a plan.
#include "app/cli/plan_derive.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/base/error.h"
#include "engine/derivation/derivation.h"
#include "engine/io/json_text.h"
#include "engine/lesson/functions.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

StepId step_of(const Program& program, const std::string& step) {
  StepId id = -1;
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), id);
  if (error != std::errc() || end != step.data() + step.size()) return step_named(program, step);
  if (id < 0 || static_cast<size_t>(id) >= program.steps.size())
    throw request_error(fmt::format("--derive: there is no step {}: they have the numbers 0 to {}", step,
                                    program.steps.size() - 1));
  return id;
}

ordered_json json_of(const Program& program, const Derivation& derivation) {
  ordered_json lines = ordered_json::array();
  for (const DerivationLine& line : derivation.lines) {
    const bool has_left = !line.left.empty();
    lines.push_back({{"left", has_left ? ordered_json(to_text(line.left.front())) : ordered_json()},
                     {"relation", to_text(line.relation)},
                     {"right", to_text(line.right)},
                     {"remark", line.remark}});
  }
  return {{"step", derivation.step},      {"name", program.step(derivation.step).name},
          {"title", derivation.title},    {"lines", lines},
          {"then", derivation.then},      {"why", derivation.why},
          {"latex", to_latex(derivation)}};
}

}  // namespace

int print_derivation(const Program& program, const std::string& step, DerivationForm form) {
  const Derivation derivation = derive(program, step_of(program, step));
  switch (form) {
    case DerivationForm::Json:
      fmt::print("{}\n", json_text(json_of(program, derivation)));
      break;
    case DerivationForm::Latex:
      fmt::print("{}", to_latex(derivation));
      break;
    case DerivationForm::Text:
      fmt::print("{}", to_text(derivation));
      break;
  }
  return 0;
}

}  // namespace shardlens::cli
