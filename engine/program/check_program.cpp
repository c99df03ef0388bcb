// Checks the sizes, the operands and the identities of a Program.
#include "engine/program/check_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/config/validate.h"

namespace shardlens {
namespace {

constexpr double kMostElements = 1e15;  // of one tensor, so that products and sums of sizes fit 64 bits
constexpr int64_t kMostTensorsPerStep = 4;
// The message below names this number.

void require_sizes(const Program& program, const std::string& source) {
  for (const Tensor& tensor : program.tensors) {
    double elements = 1;
    bool sized = !tensor.shape.empty();
    for (const int64_t extent : tensor.shape) {
      elements *= static_cast<double>(extent);
      sized = sized && extent > 0;
    }
    if (!sized || elements > kMostElements)
      throw request_error(
          fmt::format("{}: tensor {} has shape {}; every extent must be at least 1, and their product at "
                      "most 1e15 elements",
                      source, tensor.name, to_string(tensor.shape)));
  }
  const auto tensors = static_cast<int64_t>(program.tensors.size()),
             steps = static_cast<int64_t>(program.steps.size());
  const int64_t most = std::min(kMostSteps, kMostRankSteps / program.tp());
  if (steps > most || tensors > kMostTensorsPerStep * most)
    throw request_error(
        fmt::format("{}: {} steps and {} tensors are too many: on {} there may be at most {} steps and four "
                    "times as many "
                    "tensors",
                    source, grouped_text(steps), grouped_text(tensors), counted(program.tp(), "rank"),
                    grouped_text(most)));
}

void require_operands(const Program& program, const Step& step, const std::string& source) {
  const auto require = [&](const char* reads, size_t tensors, size_t least) {
    if (tensors < least)
      throw request_error(fmt::format("{}: step {} ({}) {} {}, but {} {} at least {}", source, step.id,
                                      step.name, reads, counted(static_cast<int64_t>(tensors), "tensor"),
                                      to_string(step.op), reads, least));
  };
  require("reads", step.inputs.size(), least_inputs(program, step));
  require("writes", step.outputs.size(), least_outputs(program, step));
}

// Other code follows identities from step to step. So an identity's input must be written before it, and its
// output must be used only after it.
void require_identities(const Program& program, const std::string& source) {
  std::vector<StepId> written(program.tensors.size(), -1), read(program.tensors.size(), -1);
  for (const Step& step : program.steps) {
    for (const TensorId id : step.outputs)
      if (StepId& first = written[static_cast<size_t>(id)]; first < 0) first = step.id;
    for (const TensorId id : step.inputs)
      if (StepId& first = read[static_cast<size_t>(id)]; first < 0) first = step.id;
  }
  for (const Step& step : program.steps) {
    if (step.op != Op::Identity) continue;
    const auto from = static_cast<size_t>(step.inputs[0]), to = static_cast<size_t>(step.outputs[0]);
    const bool forward = written[from] < step.id && written[to] == step.id &&
                         (read[to] < 0 || read[to] > step.id) && from != to;
    if (!forward)
      throw request_error(
          fmt::format("{}: step {} ({}) is an identity in the wrong place: earlier steps must write its "
                      "input, and only later steps may use its output",
                      source, step.id, step.name));
  }
}

}  // namespace

void check_program(const Program& program, const std::string& source) {
  try {
    validate(program.settings);
  } catch (const Error& error) {
    throw request_error(fmt::format("{}, settings: {}", source, error.what()));
  }
  require_sizes(program, source);
  if (program.odd)
    for (const Step& step : program.odd->steps) require_operands(program, step, source);
  for (const Step& step : program.steps) {
    require_operands(program, step, source);
    const int64_t rows = program.tensor(step.outputs[0]).shape[0];
    if (operation(step.op).by_batch && (step.attributes.batch < 1 || step.attributes.batch > rows))
      throw request_error(
          fmt::format("{}: step {} ({}) has {} rows and a batch of {}; the batch must be at least 1, and at "
                      "most the rows",
                      source, step.id, step.name, rows, step.attributes.batch));
    if (step.layer < -1 || step.layer >= program.settings.model.layers)
      throw request_error(
          fmt::format("{}: step {} ({}) belongs to layer {}, but the model has {} layers, numbered from 0",
                      source, step.id, step.name, step.layer, program.settings.model.layers));
  }
  require_identities(program, source);
}

}  // namespace shardlens
