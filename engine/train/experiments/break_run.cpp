// Runs both models and compares passes.
#include "engine/train/experiments/break_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/base/units.h"
#include "engine/device/device.h"
#include "engine/planner/break_settings.h"
#include "engine/planner/planner.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/run_in_pieces.h"
#include "engine/runtime/step_times.h"
#include "engine/train/model_state.h"

namespace shardlens {
namespace {

constexpr int64_t kWarmup = 5;
constexpr const char* kStopped = "the comparison was stopped";

// What the samples of a pass take, sound, broken and their difference.
int64_t samples_bytes(const Program& program, int64_t passes) {
  int64_t bytes = 0;
  for (const Tensor& tensor : program.tensors) {
    if (!is_kept(tensor)) continue;
    bytes += tensor.bytes() * (tensor.layout.kind == LayoutKind::Partial ? program.tp() : 1);
  }
  return 3 * std::min(bytes * passes, kExactBudgetBytes / 3 + kPictureBudgetBytes / 3);
}

// The ranks' devices hold up to four copies of the model. While a pass is compared, all its values are also
// kept in this machine's memory.
void refuse_if_crowded(const Plan& plan, int copies, int64_t kept_bytes) {
  int64_t values_bytes = 0;
  const std::vector<OnReplicas> replicas = on_replicas(plan.program);
  for (const Tensor& tensor : plan.program.tensors) {
    const bool same = replicas[static_cast<size_t>(tensor.id)] == OnReplicas::Same;
    if (is_kept(tensor)) values_bytes += tensor.bytes() * (same ? 1 : plan.program.dp());
  }
  std::vector<int64_t> rank_bytes = arena_bytes_by_rank(plan);
  for (int64_t& bytes : rank_bytes) bytes *= copies;
  const MemoryDemand demand = memory_demand(plan, rank_bytes, 2 * values_bytes + kept_bytes);
  if (demand.lacking_bytes() <= 0) return;
  throw request_error(
      fmt::format("running the model sound and broken, with every value compared, needs {}{}, and {} are "
                  "free. Choose a smaller "
                  "model, batch or sequence",
                  bytes_text(static_cast<double>(demand.needed_bytes)), demand.place,
                  bytes_text(static_cast<double>(demand.free_bytes))));
}

TrainOptions training(const BreakRequest& request, std::optional<Fault> fault) {
  TrainOptions options;
  options.settings = request.settings;
  options.schedule = {request.learning_rate, request.learning_rate, std::min(kWarmup, request.steps),
                      request.steps, Decay::Constant};
  options.steps = request.steps;
  options.fault = fault;
  options.fault_replica = request.replica;
  return options;
}

// Copies weights and moments as whole tensors, because the broken Program can cut a matrix in another way.
void copy_state(const Executor& from, const Program& from_program, Executor& to, const Program& to_program) {
  std::map<std::string, TensorId> source;
  for (const TensorId id : lasting_tensors(from_program)) source[from_program.tensor(id).name] = id;
  for (const TensorId id : lasting_tensors(to_program))
    write_whole(to, to_program, id, read_whole(from, from_program, source.at(to_program.tensor(id).name)));
}

// The same from rank to rank of one Program: copies that a fault has made differ stay different.
void copy_ranks(const Executor& from, Executor& to, const Program& program) {
  std::vector<std::byte> slice;
  for (const TensorId id : lasting_tensors(program)) {
    for (int rank = 0; rank < program.tp() * program.dp(); ++rank) {
      slice.resize(static_cast<size_t>(local_bytes(program.tensor(id), program.tp(), rank % program.tp())));
      if (slice.empty()) continue;
      from.read_tensor(rank, id, slice.data());
      to.write_tensor(rank, id, slice.data());
    }
  }
}

Job<> run_observed(Executor& executor, std::vector<std::shared_ptr<StepObserver>> observers) {
  executor.observe(std::move(observers));
  co_await run_to_end(executor);
  executor.observe({});
}

// Runs one more pass that nobody looks into. Its times are those of the pass before: the steps and their
// sizes are the same, and looking makes ranks wait for each other.
Job<> time_pass(Executor& executor, Result& result) {
  executor.next_pass();
  std::vector<std::shared_ptr<StepObserver>> nobody;
  co_await run_observed(executor, std::move(nobody));
  set_times(result, executor.events(result.plan->program.tp()));
  for (int rank = 0; rank < result.plan->program.tp(); ++rank)
    result.high_water_bytes.push_back(executor.high_water_bytes(rank));
}

Result result_of(const std::shared_ptr<const Plan>& plan, const Executor& executor, const SamplePlan& kept,
                 SampleTable samples) {
  Result result;
  result.plan = plan;
  result.communicator = executor.communicator();
  result.machine = machine_description(plan->program.settings);
  result.not_exact = why_not_exact(kept);
  result.samples = std::move(samples);
  return result;
}

std::shared_ptr<BreakProbe> probe_of(const Program& program, int64_t step, const ParityCheck& check) {
  const ParityTable results = check.results();
  auto probe = std::make_shared<BreakProbe>();
  probe->step = step;
  const auto take = [&](TensorId id, StepId writer) {
    const auto& parity = results[static_cast<size_t>(id)];
    if (!parity) return;
    if (!parity->within_bound() && probe->first < 0) probe->first = static_cast<int>(probe->errors.size());
    probe->errors.push_back({id, writer, parity->relative_error, parity->relative_to_terms,
                             parity->ranks_identical, !parity->within_bound(), parity->replica,
                             parity->rank});
  };
  for (const Tensor& tensor : program.tensors) {
    const bool is_fed = tensor.kind == MemoryKind::Weight || tensor.kind == MemoryKind::Input;
    if (is_fed && tensor.storage == kNoTensor) take(tensor.id, -1);
  }
  for (const Step& one : program.steps) {
    for (const TensorId id : one.outputs) take(id, one.id);
  }
  probe->coverage = coverage_of(program, results);
  return probe;
}

}  // namespace

BreakRun::BreakRun(const BreakRequest& request, std::shared_ptr<const BatchSource> batches,
                   const std::string& text)
    : keeps_passes_(request.keeps_passes), request_(request) {
  const bool trains = request.settings.block == Block::Model && batches != nullptr && request.steps > 0;
  Settings settings = with_update(request.settings);
  settings.fusion = Fusion::Off;  // not fused, like the broken one
  report_.fault = request.fault;
  report_.replica = request.replica;
  report_.bound = parity_bound(settings);
  report_.wanted_steps = trains ? request.steps : 0;
  report_.text = trains ? text : std::string();
  sound_plan_ = make_plan(plan_program(settings));
  report_.plan = make_plan(plan_broken(settings, request.fault, request.replica));
  check_runnable(*report_.plan);
  const int64_t kept_bytes = keeps_passes_ ? samples_bytes(report_.plan->program, probes_wanted()) : 0;
  refuse_if_crowded(*sound_plan_, trains ? 4 : 1, kept_bytes);
  if (trains) batches_ = std::move(batches);
}

template <class Runner>
void BreakRun::place(std::unique_ptr<Runner>& where, std::unique_ptr<Runner> made) {
  const std::lock_guard lock(mutex_);
  if (is_cancelled_) throw Error(ErrorKind::Cancelled, kStopped);
  where = std::move(made);
}

Job<> BreakRun::allocate_trainings() {
  co_await allocate(sound_pass_, sound_plan_);
  co_await allocate(broken_pass_, report_.plan);
  place(sound_, std::make_unique<Trainer>(training(request_, std::nullopt), batches_, nullptr));
  co_await GiveWay();
  place(broken_, std::make_unique<Trainer>(training(request_, request_.fault), batches_, nullptr));
}

void BreakRun::cancel() {
  const std::lock_guard lock(mutex_);
  is_cancelled_ = true;
  if (sound_pass_) sound_pass_->cancel(kStopped);
  if (broken_pass_) broken_pass_->cancel(kStopped);
  if (sound_) sound_->executor().cancel(kStopped);
  if (broken_) broken_->executor().cancel(kStopped);
}

Job<> BreakRun::allocate(std::unique_ptr<Executor>& executor, std::shared_ptr<const Plan> plan) {
  place(executor, std::make_unique<Executor>(std::move(plan)));
  co_await stand_still(*executor);
}

void BreakRun::let_go(std::unique_ptr<Executor>& executor) {
  std::unique_ptr<Executor> gone;
  const std::lock_guard lock(mutex_);
  gone = std::move(executor);
}

void BreakRun::step() {
  run_whole(step_in_pieces());
}

Job<> BreakRun::step_in_pieces() {
  if (done()) co_return;
  if (batches_ && !broken_) co_await allocate_trainings();
  if (broken_) {
    co_await train_once();
  } else {
    std::shared_ptr<BreakProbe> probe = co_await look(0);
    report_.probes.push_back(std::move(probe));
  }
}

// 1, 2, 5, 10, 20, 50 and so on, and the last.
bool BreakRun::is_looked_into(int64_t step) const {
  if (step == report_.wanted_steps) return true;
  int64_t leading = step;
  while (leading % 10 == 0) leading /= 10;
  return leading == 1 || leading == 2 || leading == 5;
}

int64_t BreakRun::probes_wanted() const {
  int64_t probes = report_.wanted_steps == 0 ? 1 : 0;
  for (int64_t step = 1; step <= report_.wanted_steps; ++step) probes += is_looked_into(step);
  return probes;
}

// Runs the present pass of both Programs and compares them.
Job<std::shared_ptr<BreakProbe>> BreakRun::look(int64_t step) {
  const Program &sound = sound_plan_->program, &broken = report_.plan->program;
  const int64_t tables = 3 * probes_wanted();
  const auto kept = [&](const Program& program) {
    return plan_samples(program, kExactBudgetBytes / tables, kPictureBudgetBytes / tables);
  };
  const auto sampler = [&](const Program& program) {
    return std::make_shared<Sampler>(program, kept(program), Sampler::NotFinite::IsCounted);
  };
  const auto right = std::make_shared<RightValues>(sound);
  const std::shared_ptr<Sampler> of_sound = keeps_passes_ ? sampler(sound) : nullptr;
  std::vector<std::shared_ptr<StepObserver>> observers{right};
  if (keeps_passes_) observers.push_back(of_sound);
  if (!broken_) co_await allocate(sound_pass_, sound_plan_);
  co_await run_observed(*sound_pass_, observers);
  right->finish();
  std::optional<Result> of_sound_run;
  if (keeps_passes_) {
    of_sound_run = result_of(sound_plan_, *sound_pass_, of_sound->plan(), of_sound->samples());
    co_await time_pass(*sound_pass_, *of_sound_run);
    of_sound_run->provenance = "measured, sound run";
    of_sound_run->not_compared = "This is the sound run that a broken one is compared with.";
  }
  if (!broken_) {
    let_go(sound_pass_);
    co_await allocate(broken_pass_, report_.plan);
  }

  const auto check = std::make_shared<ParityCheck>(broken, right->of_replicas(), false);
  observers = {check};
  const std::shared_ptr<Sampler> of_broken = keeps_passes_ ? sampler(broken) : nullptr;
  const auto differences =
      keeps_passes_ ? std::make_shared<Differences>(broken, right, kept(broken)) : nullptr;
  if (keeps_passes_) observers.insert(observers.end(), {of_broken, differences});
  co_await run_observed(*broken_pass_, observers);

  const std::shared_ptr<BreakProbe> probe = probe_of(broken, step, *check);
  if (!keeps_passes_) co_return probe;
  probe->pass.sound = std::make_shared<const Result>(std::move(*of_sound_run));
  Result two = result_of(report_.plan, *broken_pass_, of_broken->plan(), of_broken->samples());
  co_await time_pass(*broken_pass_, two);
  two.provenance = "measured, broken run";
  two.not_compared = "This is the broken run. Break it compares every tensor with the sound run.";
  Result apart = two;
  apart.samples = differences->samples();
  apart.provenance = "measured, broken minus sound";
  probe->pass.broken = std::make_shared<const Result>(std::move(two));
  probe->pass.difference = std::make_shared<const Result>(std::move(apart));
  co_return probe;
}

Job<> BreakRun::train_once() {
  const int64_t number = broken_->steps_done() + 1;
  std::shared_ptr<BreakProbe> probe;
  if (is_looked_into(number)) {
    copy_state(broken_->executor(), report_.plan->program, *sound_pass_, sound_plan_->program);
    copy_ranks(broken_->executor(), *broken_pass_, report_.plan->program);
    sound_pass_->next_pass(broken_->inputs_of(number));
    broken_pass_->next_pass(broken_->inputs_of(number));
    probe = co_await look(number);
  }
  const StepReport sound = co_await sound_->step_in_pieces();
  try {
    const StepReport broken = co_await broken_->step_in_pieces();
    report_.steps.push_back({sound.loss, broken.loss, sound.gradient_norm, broken.gradient_norm});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Run) throw;
    report_.ended = error.what();
  }
  if (probe && report_.ended.empty()) report_.probes.push_back(probe);
}

}  // namespace shardlens
