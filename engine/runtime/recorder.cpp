// From an executor's tracks to a recorded pass.
#include "engine/runtime/recorder.h"

#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

RecordingHeader header_of(const std::string& verb, const Plan& plan, const CommunicatorInfo& communicator) {
  RecordingHeader header{
      verb, machine_description(), communicator.name, communicator.reason, plan.program, plan.memory, {}};
  for (const std::vector<StepCost>& rank : plan.cost) {
    header.step_flops.emplace_back();
    for (const StepCost& cost : rank) header.step_flops.back().push_back(cost.flops);
  }
  return header;
}

}  // namespace

Recorder::Recorder(const std::string& path, const std::string& verb, const Plan& plan,
                   const CommunicatorInfo& communicator, RecordingLimits limits)
    : ranks_(plan.program.ranks() * plan.program.replicas()),
      writer_(path, header_of(verb, plan, communicator), limits) {}

void Recorder::take(const Executor& executor, std::vector<Metric> metrics) {
  RecordedPass pass;
  pass.events = executor.events(ranks_);
  double seconds = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::vector<StepEvent>& track = pass.events[static_cast<size_t>(rank)];
    if (!track.empty()) seconds = std::max(seconds, track.back().end_seconds);
    pass.high_water_bytes.push_back(executor.high_water_bytes(rank));
  }
  const double now = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  pass.begin_seconds = std::max(0.0, now - seconds);
  pass.metrics = std::move(metrics);
  writer_.offer(std::move(pass));
}

}  // namespace shardlens
