// Runs the passes of a recording again from its settings.
#include "engine/train/experiments/run_again.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/config/hardware.h"
#include "engine/config/hardware_file.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/recordings/recorder.h"
#include "engine/runtime/run_in_pieces.h"
#include "engine/runtime/sampler.h"
#include "engine/train/model_step.h"

namespace shardlens {
namespace {

constexpr int64_t kMostPasses = 16;
constexpr const char* kName = "run-again.shardlens";
constexpr PictureOptions kEveryTensor{.taken = PictureOptions::Taken::All, .extent = 1};  // only for its hash

// If the hardware that the run was priced on is not known here, this machine replaces it. That changes no
// value.
Settings settings_here(Settings settings) {
  try {
    find_hardware(settings.hardware);
  } catch (const Error&) {
    settings.hardware = kThisMachine;
  }
  return settings;
}

constexpr const char* kStopped = "the run for the comparison was stopped";

// The first pass is sampled, the second is timed.
Job<> run_layer(std::shared_ptr<const Plan> plan, std::string path, std::stop_token stop) {
  Executor executor(plan);
  const std::stop_callback cancel(stop, [&executor] { executor.cancel(kStopped); });
  Recorder recorder(path, "step", *plan, executor.communicator(), {}, kEveryTensor);
  executor.observe({std::make_shared<FiniteCheck>(plan->program.tp()), recorder.pictures()});
  co_await run_to_end(executor);
  executor.observe({});
  executor.rewind();
  co_await run_to_end(executor);
  recorder.take(executor);
  recorder.finish();
}

Job<> run_model(std::shared_ptr<const Plan> plan, std::string path, int passes, double learning_rate,
                std::stop_token stop) {
  ModelStepRequest request;
  request.stop = stop;
  request.updates = plan->program.settings.update ? passes : 0;
  request.learning_rate = learning_rate;
  std::unique_ptr<Recorder> recorder;
  request.observer = [&](const Executor& executor) {
    recorder = std::make_unique<Recorder>(path, "step", *plan, executor.communicator(), RecordingLimits{},
                                          kEveryTensor);
    return recorder->pictures();
  };
  request.after_pass = [&](const Executor& executor, double loss) {
    recorder->take(executor, {{"loss", loss}});
  };
  co_await model_step_in_pieces(plan, request);
}

}  // namespace

std::shared_ptr<const Plan> plan_again(const Recording& recording, const std::string& name) {
  const RecordingHeader& header = recording.header();
  if (is_training(header.verb))
    throw request_error(fmt::format(
        "{} is the recording of a training run, and the training text is not in it: record the same training "
        "here and give both files",
        name));
  if (recording.passes() == 0) throw request_error(fmt::format("{} holds no pass to compare with", name));
  std::shared_ptr<const Plan> plan = make_plan(settings_here(header.program.settings));
  check_runnable(*plan);
  return plan;
}

RunAgain::RunAgain() : folder_(files_of_recording(kName)) {}

std::string RunAgain::path() const {
  return folder_.path_of(kName);
}

Job<> RunAgain::run(const Recording& recording, std::string name, std::stop_token stop) {
  const RecordingHeader& header = recording.header();
  const std::shared_ptr<const Plan> plan = plan_again(recording, name);
  if (header.program.settings.block != Block::Model) {
    co_await run_layer(plan, path(), stop);
    co_return;
  }
  double learning_rate = 0;
  recording.metrics(0, 1, 1, [&](int64_t, const std::string& metric, double value) {
    if (metric == "learning_rate") learning_rate = value;
  });
  // Only `step` counts its optimizer's steps in the same way as this run does.
  const int64_t passes = header.verb == "step" ? std::min(recording.passes(), kMostPasses) : 1;
  co_await run_model(plan, path(), static_cast<int>(passes), learning_rate, stop);
}

}  // namespace shardlens
