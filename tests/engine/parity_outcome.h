// A Program run beside the serial one, and what the comparison found.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/planner/planner.h"
#include "engine/runtime/parity.h"
#include "tests/engine/small_layer.h"

namespace shardlens::testing {

struct Outcome {
  Program program;
  std::vector<std::shared_ptr<const TensorParity>> parity;
  ParitySummary summary;

  const TensorParity* of(const std::string& value) const {
    for (const Tensor& tensor : program.tensors) {
      if (tensor.value == value) return parity[static_cast<size_t>(tensor.id)].get();
    }
    return nullptr;
  }
  std::string first_broken() const {
    return summary.first_broken == kNoTensor ? "" : program.tensor(summary.first_broken).value;
  }
};

/// `program` against plan_serial(settings), with difference pictures or without.
inline Outcome compare(const Settings& settings, Program program, bool pictures = false) {
  auto serial = std::make_shared<SerialReference>();
  run(make_plan(plan_serial(settings)), {serial});
  const std::shared_ptr<const Plan> plan = make_plan(std::move(program));
  auto check = std::make_shared<ParityCheck>(plan->program, serial, pictures);
  run(plan, {check});
  Outcome outcome{plan->program, check->results(), {}};
  outcome.summary = summarise(outcome.program, outcome.parity);
  return outcome;
}

inline Outcome compare(const Settings& settings) {
  return compare(settings, plan_program(settings));
}

}  // namespace shardlens::testing
