// Makes a recorded pass from an executor's tracks.
#include "engine/runtime/recordings/recorder.h"

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/clock_step.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

RecordingHeader header_of(const std::string& verb, const Plan& plan, const CommunicatorInfo& communicator,
                          const PictureOptions& pictures) {
  const std::string machine = machine_description(plan.program.settings);
  RecordingHeader header{verb,        machine, communicator.name,   communicator.reason, plan.program,
                         plan.memory, {},      to_string(pictures), clock_step_seconds()};
  for (const std::vector<StepCost>& rank : plan.cost) {
    header.step_flops.emplace_back();
    for (const StepCost& cost : rank) header.step_flops.back().push_back(cost.flops);
  }
  return header;
}

}  // namespace

Recorder::Recorder(const std::string& path, const std::string& verb, const Plan& plan,
                   const CommunicatorInfo& communicator, RecordingLimits limits,
                   const PictureOptions& pictures)
    : ranks_(plan.program.tp() * plan.program.dp()),
      pictures_(pictures.taken == PictureOptions::Taken::Off
                    ? nullptr
                    : std::make_shared<PictureTaker>(plan.program, pictures)),
      writer_(path, header_of(verb, plan, communicator, pictures), limits) {}

void Recorder::take(const Executor& executor, std::vector<Metric> metrics, ParityTable parity,
                    double pass_seconds) {
  RecordedPass pass;
  pass.events = executor.events(ranks_);
  if (!executor.is_traced()) pass.untraced_seconds = pass_seconds;
  for (int rank = 0; rank < ranks_; ++rank) pass.high_water_bytes.push_back(executor.high_water_bytes(rank));
  pass.metrics = std::move(metrics);
  // Stored with every pass, because clocks drift: the header describes them at the start of the run.
  if (const double residual = executor.seats().clock_residual_seconds(); residual > 0)
    pass.metrics.emplace_back("clock_residual_seconds", residual);
  pass.parity = std::move(parity);
  if (pictures_) pass.samples = pictures_->take(seconds_of(pass), writer_.seconds_per_sample());
  offer(std::move(pass));
}

void Recorder::take(const Result& result, std::vector<Metric> metrics) {
  RecordedPass pass;
  pass.events = result.events;
  pass.high_water_bytes = result.high_water_bytes;
  pass.metrics = std::move(metrics);
  pass.samples = result.samples;
  pass.parity = result.parity;
  offer(std::move(pass));
}

void Recorder::offer(RecordedPass pass) {
  const double begin = now_seconds() - seconds_of(pass);
  if (!begin_seconds_) begin_seconds_ = begin;
  // If this thread was late to take the pass before, that pass has a later begin than in reality: the two
  // must not overlap.
  pass.begin_seconds = std::max(taken_until_seconds_, begin - *begin_seconds_);
  taken_until_seconds_ = pass.begin_seconds + seconds_of(pass);
  writer_.offer(std::move(pass));
}

}  // namespace shardlens
