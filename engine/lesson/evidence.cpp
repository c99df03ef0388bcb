// Plans and runs what expressions ask about.
#include "engine/lesson/evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/config/settings_json.h"
#include "engine/lesson/price.h"
#include "engine/planner/break_settings.h"
#include "engine/planner/planner.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/measure/measured_run.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/sampler.h"
#include "engine/train/data/train_data.h"
#include "engine/train/experiments/break_run.h"
#include "engine/train/trainer.h"

namespace shardlens {
namespace {

constexpr double kLearningRate = 1e-3;  // as in a BreakRun
constexpr int64_t kWarmup = 5;

// Of all exact values of a run. Lessons are small; what is larger is looked at in the studio.
constexpr int64_t kExactBytes = kExactBudgetBytes / 4;
constexpr const char* kStopped = "the lesson was closed before this was computed";

void require_wanted(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(ErrorKind::Cancelled, kStopped);
}

void run_to_end(Executor& executor, std::vector<std::shared_ptr<StepObserver>> observers,
                const std::stop_token& stop) {
  executor.observe(std::move(observers));
  executor.start(executor.steps());
  const std::stop_callback cancel(stop, [&executor] { executor.cancel(kStopped); });
  executor.wait();
}

// An expression reads values and hashes, and no pictures.
std::shared_ptr<Sampler> sampler_of(const Program& program) {
  SamplePlan plan = plan_samples(program, kExactBytes);
  for (SampleDetail& detail : plan.details) detail.picture_extent = 1;
  return std::make_shared<Sampler>(program, std::move(plan), Sampler::NotFinite::StopsTheRun);
}

// The probes without what no expression reads: the sound run's samples and the differences.
void keep_what_is_read(BreakReport& report) {
  for (std::shared_ptr<const BreakProbe>& probe : report.probes) {
    auto smaller = std::make_shared<BreakProbe>(*probe);
    smaller->pass.sound = smaller->pass.difference = nullptr;
    probe = std::move(smaller);
  }
}

int64_t bytes_of(const SampleTable& samples) {
  int64_t bytes = 0;
  for (const auto& rank : samples)
    for (const auto& sample : rank)
      if (sample)
        bytes += static_cast<int64_t>(sizeof(TensorSample) + sample->exact.size() +
                                      sample->picture.values.size() * sizeof(float));
  return bytes;
}

int64_t bytes_of(const Plan& plan) {
  const auto steps = static_cast<int64_t>(plan.program.steps.size()), ranks = std::ssize(plan.memory);
  return steps * static_cast<int64_t>(sizeof(Step)) +
         std::ssize(plan.program.tensors) * static_cast<int64_t>(sizeof(Tensor)) +
         steps * ranks * static_cast<int64_t>(sizeof(BytesByKind) + sizeof(StepCost));
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

Evidence::Evidence(const Settings& settings, std::optional<Fault> mistake, const std::stop_token& stop)
    : stop_(stop), settings_(settings), mistake_(mistake) {}

const Plan& Evidence::plan() {
  if (plan_) return *plan_;
  require_wanted(stop_);
  refuse_large_plan(settings_);
  plan_ = mistake_ ? make_plan(plan_broken(with_update(settings_), *mistake_)) : make_plan(settings_);
  return *plan_;
}

void Evidence::check_size(int64_t passes) {
  refuse_long_run(plan(), passes);
  require_wanted(stop_);
  check_runnable(plan());
}

std::shared_ptr<const SerialReference> Evidence::run_serial() {
  require_wanted(stop_);
  const std::shared_ptr<const Plan> serial_plan = make_plan(plan_serial(settings_));
  if (const std::string why = why_not_comparable(*plan_, *serial_plan); !why.empty())
    throw request_error(why);
  auto serial = std::make_shared<SerialReference>();
  observe_run(serial_plan, {serial}, {.stop = stop_});
  return serial;
}

const Result& Evidence::run() {
  if (result_) return *result_;
  if (mistake_)
    throw request_error("a run with a planted mistake is compared with the sound one, and not timed");
  check_size(1);
  const std::shared_ptr<const SerialReference> serial = run_serial();
  auto result = std::make_shared<Result>();
  result->plan = plan_;
  const std::shared_ptr<Sampler> sampler = sampler_of(plan_->program);
  const auto parity = std::make_shared<ParityCheck>(plan_->program, serial, false);
  Executor executor(plan_);
  run_to_end(executor, {sampler, parity}, stop_);
  result->samples = sampler->samples();
  result->parity = parity->results();
  result->parity_summary = summarise(plan_->program, result->parity);
  // Once more, with nobody who looks, for the times.
  executor.observe({});
  executor.rewind();
  run_to_end(executor, {}, stop_);
  set_times(*result, executor.events(plan_->program.tp() * plan_->program.dp()));
  result->times = std::make_shared<TimeComparison>(compare_times(*plan_, result->events));
  result->timed = true;
  result->machine = machine_description(plan_->program.settings);
  result_ = std::move(result);
  return *result_;
}

const SerialReference& Evidence::serial() {
  run();
  if (!serial_) serial_ = run_serial();
  return *serial_;
}

int64_t Evidence::kept_bytes() const {
  int64_t bytes = sizeof(Evidence) + static_cast<int64_t>(losses_.size() * sizeof(double));
  if (plan_) bytes += bytes_of(*plan_);
  if (result_) bytes += bytes_of(result_->samples);
  if (serial_)
    for (const Tensor& tensor : plan_->program.tensors) bytes += tensor.bytes();
  for (const std::optional<BreakReport>* report : {&pass_report_, &training_report_})
    if (*report)
      for (const std::shared_ptr<const BreakProbe>& probe : (*report)->probes)
        if (probe->pass.broken) bytes += bytes_of(probe->pass.broken->samples);
  return bytes;
}

const BreakReport& Evidence::broken(int64_t steps) {
  if (!mistake_)
    throw request_error("no mistake is planted here: add mistake = \"skip-f\" or another to the scene");
  // One pass keeps what every rank held; a training does not.
  std::optional<BreakReport>& report = steps == 0 ? pass_report_ : training_report_;
  if (report && report->wanted_steps >= steps) return *report;
  check_size(2 * steps);
  const Settings settings = with_update(settings_);
  BreakRun run({settings, *mistake_, steps, kLearningRate, steps == 0},
               steps > 0 ? built_in_batches(settings) : nullptr, kBuiltInText);
  const std::stop_callback cancel(stop_, [&run] { run.cancel(); });
  while (!run.done()) run.step();
  report = run.report();
  keep_what_is_read(*report);
  return *report;
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
  std::vector<double> losses;
  if (mistake_) {
    for (const BreakStep& step : broken(steps).steps) losses.push_back(step.broken_loss);
  } else {
    check_size(steps);
    Trainer trainer(lesson_training(settings_, steps), built_in_batches(settings_), nullptr);
    const std::stop_callback cancel(stop_, [&trainer] { trainer.executor().cancel(kStopped); });
    for (int64_t step = 0; step < steps; ++step) losses.push_back(trainer.step().loss);
  }
  require_steps(losses, steps);
  losses_ = std::move(losses);
  return losses_;
}

std::vector<double> Evidence::sound_losses(int64_t steps) {
  if (!mistake_) return losses(steps);
  std::vector<double> losses;
  for (const BreakStep& step : broken(steps).steps) losses.push_back(step.sound_loss);
  require_steps(losses, steps);
  return losses;
}

std::shared_ptr<Evidence> EvidenceStore::of(const Settings& settings, std::optional<Fault> mistake) {
  const std::string key = settings_to_json(settings).dump() + (mistake ? to_string(*mistake) : "");
  make_room();
  Kept& kept = kept_[key];
  kept.asked = ++asked_;
  if (!kept.evidence) kept.evidence = std::make_shared<Evidence>(settings, mistake, stop_);
  return kept.evidence;
}

int64_t EvidenceStore::kept_bytes() const {
  int64_t bytes = 0;
  for (const auto& [key, kept] : kept_) bytes += kept.evidence->kept_bytes();
  return bytes;
}

// What is being evaluated now is held by its Surroundings, and stays.
void EvidenceStore::make_room() {
  for (int64_t bytes = kept_bytes(); bytes > kMostKeptBytes;) {
    auto oldest = kept_.end();
    for (auto one = kept_.begin(); one != kept_.end(); ++one)
      if (one->second.evidence.use_count() == 1 &&
          (oldest == kept_.end() || one->second.asked < oldest->second.asked))
        oldest = one;
    if (oldest == kept_.end()) return;
    bytes -= oldest->second.evidence->kept_bytes();
    kept_.erase(oldest);
  }
}

}  // namespace shardlens
