// Runs a Program and the serial one, and holds the result of their comparison.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/planner/planner.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/parity.h"
#include "tests/engine/small_layer.h"

namespace shardlens::testing {

struct Outcome {
  Program program;
  std::vector<std::shared_ptr<const TensorParity>> parity;
  ParitySummary summary;
  std::string miscounted;  ///< the first thing that was not as planned; empty: every byte was

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

/// What was counted while `plan` ran (bytes every group of ranks sent in every collective, high-water of
/// every arena of every rank) where it is not what was planned, to the byte; empty where all of it is.
inline std::string miscounted(const Plan& plan, const Executor& executor) {
  const Program& program = plan.program;
  const int ranks = program.tp();
  const std::vector<std::vector<StepEvent>> events = executor.events(ranks * program.dp());
  for (const Step& step : program.steps) {
    // The groups that meet: one rank of every replica, those that hold a slice, or all T.
    const bool over_replicas = step.axis == Axis::Dp;
    const int members = is_collective(step.op) ? group_ranks(program, step) : 1;
    const int groups = ranks * program.dp() / members;
    for (int group = 0; group < groups; ++group) {
      int64_t counted = 0;
      for (int member = 0; member < members; ++member) {
        const int rank = over_replicas ? member * ranks + group : group * members + member;
        counted += events[static_cast<size_t>(rank)][static_cast<size_t>(step.id)].sent_bytes;
      }
      const int first = over_replicas ? group : group * members % ranks;
      const int64_t planned = group_sent_bytes(program, step.id, first);
      if (counted != planned)
        return fmt::format("{} of group {}: {} bytes planned, {} counted", step.name, group, planned,
                           counted);
    }
  }
  for (int rank = 0; rank < ranks * program.dp(); ++rank) {
    const BytesByKind planned = plan.memory[static_cast<size_t>(rank % ranks)].arena_bytes;
    const BytesByKind measured = executor.high_water_bytes(rank);
    for (int kind = 0; kind < kMemoryKinds; ++kind) {
      const auto k = static_cast<size_t>(kind);
      if (planned[k] != measured[k])
        return fmt::format("{} of rank {}: {} bytes planned, {} measured",
                           to_string(static_cast<MemoryKind>(kind)), rank, planned[k], measured[k]);
    }
  }
  return {};
}

/// `program` against plan_serial(settings), with difference pictures or without.
inline Outcome compare(const Settings& settings, Program program, bool pictures = false) {
  auto serial = std::make_shared<SerialReference>();
  run(make_plan(plan_serial(settings)), {serial});
  const std::shared_ptr<const Plan> plan = make_plan(std::move(program));
  auto check = std::make_shared<ParityCheck>(plan->program, serial, pictures);
  Executor executor(plan);
  executor.observe({check});
  executor.start(executor.steps());
  executor.wait();
  Outcome outcome{plan->program, check->results(), {}, miscounted(*plan, executor)};
  outcome.summary = summarise(outcome.program, outcome.parity);
  return outcome;
}

inline Outcome compare(const Settings& settings) {
  return compare(settings, plan_program(settings));
}

}  // namespace shardlens::testing
