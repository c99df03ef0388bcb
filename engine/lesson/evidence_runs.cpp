// Runs what expressions ask about. What plans and keeps it is in evidence.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/lesson/evidence.h"
#include "engine/lesson/price.h"
#include "engine/planner/break_settings.h"
#include "engine/planner/planner.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/measure/measured_run.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/run_in_pieces.h"
#include "engine/runtime/sampler.h"
#include "engine/train/data/train_data.h"
#include "engine/train/experiments/break_run.h"
#include "engine/train/trainer.h"

namespace shardlens {
namespace {

constexpr double kLearningRate = 1e-3;  // as in a BreakRun
constexpr int64_t kWarmup = 5;

// Of all exact values of a run. Lessons are small; what is larger is looked at in the studio.
constexpr int64_t kExactBytes = (sizeof(void*) == 4 ? int64_t{24} : int64_t{128}) << 20;
Job<> run_observed(Executor& executor, std::vector<std::shared_ptr<StepObserver>> observers,
                   std::stop_token stop) {
  executor.observe(std::move(observers));
  const std::stop_callback cancel(stop, [&executor] { executor.cancel(kStoppedEvidence); });
  co_await run_to_end(executor);
}

// An expression reads values and hashes, and no pictures.
std::shared_ptr<Sampler> sampler_of(const Program& program) {
  SamplePlan plan = plan_samples(program, kExactBytes);
  for (SampleDetail& detail : plan.details) detail.picture_extent = 1;
  return std::make_shared<Sampler>(program, std::move(plan), Sampler::NotFinite::StopsTheRun);
}

/// What is run, as LaterRuns names it.
enum What { kOnce, kSerial, kBroken, kTraining };

// The probes without what no expression reads: the sound run's samples and the differences.
void keep_what_is_read(BreakReport& report) {
  for (std::shared_ptr<const BreakProbe>& probe : report.probes) {
    auto smaller = std::make_shared<BreakProbe>(*probe);
    smaller->pass.sound = smaller->pass.difference = nullptr;
    probe = std::move(smaller);
  }
}

// A mistake may end its run early.
void require_steps(const std::vector<double>& losses, int64_t steps) {
  if (static_cast<int64_t>(losses.size()) < steps)
    throw request_error(fmt::format("the run with the mistake ended after {} steps", losses.size()));
}

std::shared_ptr<const BatchSource> built_in_batches(const Settings& settings) {
  const TrainData data = open_built_in_text(settings.model);
  return make_batches(data.train, *data.tokenizer, settings, settings.seed);
}

}  // namespace

TrainOptions lesson_training(const Settings& settings, int64_t steps) {
  TrainOptions options;
  options.settings = settings;
  options.steps = steps;
  options.schedule = {kLearningRate, kLearningRate, std::min(kWarmup, steps), steps, Decay::Constant};
  return options;
}

void Evidence::check_size(int64_t steps) {
  refuse_long_run(plan(), steps);
  require_wanted();
  check_runnable(plan());
}

Job<std::shared_ptr<const SerialReference>> Evidence::run_serial() {
  require_wanted();
  const std::shared_ptr<const Plan> serial_plan = make_plan(plan_serial(settings_));
  if (const std::string why = why_not_comparable(*plan_, *serial_plan); !why.empty())
    throw request_error(why);
  auto serial = std::make_shared<SerialReference>();
  std::vector<std::shared_ptr<StepObserver>> observers{serial};
  const RunWish wish{.stop = stop_};
  co_await observe_in_pieces(serial_plan, std::move(observers), wish);
  co_return serial;
}

const Result& Evidence::run() {
  if (result_) return *result_;
  if (mistake_)
    throw request_error("a run with a planted mistake is compared with the sound one, and not timed");
  need(kOnce, 0, run_once());
  return *result_;
}

Job<> Evidence::run_once() {
  check_size(0);
  const std::shared_ptr<const SerialReference> serial = co_await run_serial();
  auto result = std::make_shared<Result>();
  result->plan = plan_;
  const std::shared_ptr<Sampler> sampler = sampler_of(plan_->program);
  const auto parity = std::make_shared<ParityCheck>(plan_->program, serial, false);
  Executor executor(plan_);
  std::vector<std::shared_ptr<StepObserver>> observers{sampler, parity};
  co_await run_observed(executor, std::move(observers), stop_);
  result->samples = sampler->samples();
  result->parity = parity->results();
  result->parity_summary = summarise(plan_->program, result->parity);
  // Once more, with nobody who looks, for the times.
  executor.observe({});
  executor.rewind();
  std::vector<std::shared_ptr<StepObserver>> nobody;
  co_await run_observed(executor, std::move(nobody), stop_);
  set_times(*result, executor.events(plan_->program.tp() * plan_->program.dp()));
  result->times = std::make_shared<TimeComparison>(compare_times(*plan_, result->events));
  result->timed = true;
  result->machine = machine_description(plan_->program.settings);
  result_ = std::move(result);
}

const SerialReference& Evidence::serial() {
  run();
  if (!serial_) need(kSerial, 0, run_for_serial());
  return *serial_;
}

Job<> Evidence::run_for_serial() {
  serial_ = co_await run_serial();
}

const BreakReport& Evidence::broken(int64_t steps) {
  if (!mistake_)
    throw request_error("no mistake is planted here: add mistake = \"skip-f\" or another to the scene");
  // One pass keeps what every rank held; a training does not.
  std::optional<BreakReport>& report = steps == 0 ? pass_report_ : training_report_;
  if (!report || report->wanted_steps < steps) need(kBroken, steps, run_broken(steps));
  return *report;
}

Job<> Evidence::run_broken(int64_t steps) {
  check_size(2 * steps);
  const Settings settings = with_update(settings_);
  BreakRun run({settings, *mistake_, steps, kLearningRate, steps == 0},
               steps > 0 ? built_in_batches(settings) : nullptr, kBuiltInText);
  const std::stop_callback cancel(stop_, [&run] { run.cancel(); });
  while (!run.done()) {
    co_await run.step_in_pieces();
    co_await GiveWay();
  }
  BreakReport report = run.report();
  keep_what_is_read(report);
  (steps == 0 ? pass_report_ : training_report_) = std::move(report);
}

const SampleTable& Evidence::samples() {
  if (!mistake_) return run().samples;
  const BreakReport& report = broken(0);
  if (report.probes.empty() || !report.probes.front()->pass.broken)
    throw request_error("the run with the mistake ended before anything could be read");
  return report.probes.front()->pass.broken->samples;
}

const std::vector<double>& Evidence::losses(int64_t steps) {
  if (static_cast<int64_t>(losses_.size()) >= steps) return losses_;
  if (settings_.block != Block::Model)
    throw request_error(
        "only a whole model has a loss: add block = \"model\" and a small model such as gpt2-tiny");
  if (!mistake_) {
    need(kTraining, steps, train(steps));
    return losses_;
  }
  std::vector<double> losses;
  for (const BreakStep& step : broken(steps).steps) losses.push_back(step.broken_loss);
  require_steps(losses, steps);
  losses_ = std::move(losses);
  return losses_;
}

Job<> Evidence::train(int64_t steps) {
  check_size(steps);
  Trainer trainer(lesson_training(settings_, steps), built_in_batches(settings_), nullptr);
  const std::stop_callback cancel(stop_, [&trainer] { trainer.executor().cancel(kStoppedEvidence); });
  std::vector<double> losses;
  for (int64_t step = 0; step < steps; ++step) {
    const StepReport report = co_await trainer.step_in_pieces();
    losses.push_back(report.loss);
    co_await GiveWay();
  }
  losses_ = std::move(losses);
}

std::vector<double> Evidence::sound_losses(int64_t steps) {
  if (!mistake_) return losses(steps);
  std::vector<double> losses;
  for (const BreakStep& step : broken(steps).steps) losses.push_back(step.sound_loss);
  require_steps(losses, steps);
  return losses;
}

}  // namespace shardlens
