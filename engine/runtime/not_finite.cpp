// Runs a pass once more to find the first tensor that is not finite.
#include "engine/runtime/not_finite.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "engine/base/error.h"
#include "engine/program/program.h"
#include "engine/runtime/sampler.h"

namespace shardlens {

std::string where_not_finite(Executor& executor, const Program& program, const PassInputs& inputs,
                             std::vector<std::shared_ptr<StepObserver>> observers) {
  try {
    observers.push_back(std::make_shared<FiniteCheck>(program.tp()));
    executor.observe(std::move(observers));
    executor.next_pass(inputs);
    executor.start(executor.steps());
    executor.wait();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Cancelled) throw;
    return error.what();
  }
  return "no tensor of the pass";
}

void require_finite(double value, const std::string& what, Executor& executor, const Program& program,
                    const PassInputs& inputs) {
  if (std::isfinite(value)) return;
  throw run_error(fmt::format("{} is {}. It began here: {}", what, number_text(value),
                              where_not_finite(executor, program, inputs)));
}

std::string number_text(double value) {
  return std::isnan(value) ? "NaN" : fmt::format("{}", value);
}

}  // namespace shardlens
