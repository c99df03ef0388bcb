// Looks at a Program step by step and tensor by tensor.
#include "engine/program/sound.h"

#include <fmt/format.h>

#include "engine/config/counted.h"
#include "engine/config/error.h"
#include "engine/config/validate.h"

namespace shardlens {
namespace {

constexpr double kMostElements = 1e15;  // of a tensor: products and sums of such sizes stay inside 64 bits
constexpr double kMostPairs = 4e9;      // of tensors, over all ranks: what liveness can be asked about
constexpr double kMostRankSteps = 5e7;

void require_sizes(const Program& program, const std::string& source) {
  for (const Tensor& tensor : program.tensors) {
    double elements = 1;
    bool sized = !tensor.shape.empty();
    for (const int64_t extent : tensor.shape) {
      elements *= static_cast<double>(extent);
      sized = sized && extent > 0;
    }
    if (!sized || elements > kMostElements)
      throw request_error(fmt::format("{}: tensor {} of shape {} is none that can be held", source,
                                      tensor.name, to_string(tensor.shape)));
  }
  const auto tensors = static_cast<double>(program.tensors.size()),
             steps = static_cast<double>(program.steps.size()), ranks = static_cast<double>(program.ranks());
  if (tensors * tensors * ranks > kMostPairs || steps * ranks > kMostRankSteps)
    throw request_error(fmt::format("{}: {} steps over {} tensors on {} ranks are more than can be shown",
                                    source, program.steps.size(), program.tensors.size(), program.ranks()));
}

void require_operands(const Program& program, const Step& step, const std::string& source) {
  const auto require = [&](const char* reads, size_t tensors, size_t least) {
    if (tensors < least)
      throw request_error(fmt::format("{}: step {}, {}, {} {}, and {} {} at least {}", source, step.id,
                                      step.name, reads, counted(static_cast<int64_t>(tensors), "tensor"),
                                      to_string(step.op), reads, least));
  };
  require("reads", step.inputs.size(), least_inputs(program, step));
  require("writes", step.outputs.size(), least_outputs(program, step));
}

// Identities are followed from step to step, so each must pass on what was there before to who comes after.
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
          fmt::format("{}: step {}, {}, passes on what is not there yet", source, step.id, step.name));
  }
}

}  // namespace

void require_sound(const Program& program, const std::string& source) {
  try {
    validate(program.settings);
  } catch (const Error& error) {
    throw request_error(fmt::format("{}, settings: {}", source, error.what()));
  }
  require_sizes(program, source);
  for (const Step& step : program.steps) {
    require_operands(program, step, source);
    const int64_t rows = program.tensor(step.outputs[0]).shape[0];
    if (operation(step.op).by_batch && (step.attributes.batch < 1 || step.attributes.batch > rows))
      throw request_error(fmt::format("{}: step {}, {}, has {} rows of a batch of {}", source, step.id,
                                      step.name, rows, step.attributes.batch));
    if (step.layer < -1 || step.layer >= program.settings.model.layers)
      throw request_error(fmt::format("{}: step {}, {}, belongs to layer {}, and the model has {}", source,
                                      step.id, step.name, step.layer, program.settings.model.layers));
  }
  require_identities(program, source);
}

}  // namespace shardlens
