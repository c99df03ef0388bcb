// Runs both models and compares passes.
#include "engine/train/experiments/break_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/base/units.h"
#include "engine/device/device.h"
#include "engine/planner/break_settings.h"
#include "engine/planner/planner.h"
#include "engine/runtime/gather.h"
#include "engine/runtime/plan.h"
#include "engine/train/model_state.h"

namespace shardlens {
namespace {

constexpr int64_t kWarmup = 5;

bool is_compared(const Tensor& tensor) {
  return tensor.kind != MemoryKind::Workspace && tensor.dtype != DType::Int32 && tensor.layout != kPartialMax;
}

// The ranks' devices hold up to three copies of the model. While a pass is compared, all its values are also
// kept in this machine's memory.
void refuse_if_crowded(const Plan& plan, int copies) {
  int64_t values_bytes = 0;
  for (const Tensor& tensor : plan.program.tensors) {
    if (is_compared(tensor)) values_bytes += tensor.bytes();
  }
  std::vector<int64_t> rank_bytes = arena_bytes_by_rank(plan);
  for (int64_t& bytes : rank_bytes) bytes *= copies;
  const MemoryDemand demand = memory_demand(plan, rank_bytes, 2 * values_bytes);
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
  return options;
}

// Copies weights and moments as whole tensors, because the broken Program can cut a matrix in another way.
void copy_state(const Executor& from, const Program& from_program, Executor& to, const Program& to_program) {
  std::map<std::string, TensorId> source;
  for (const TensorId id : lasting_tensors(from_program)) source[from_program.tensor(id).name] = id;
  for (const TensorId id : lasting_tensors(to_program))
    write_whole(to, to_program, id, read_whole(from, from_program, source.at(to_program.tensor(id).name)));
}

}  // namespace

BreakRun::BreakRun(const BreakRequest& request, std::shared_ptr<const BatchSource> batches,
                   const std::string& text) {
  const bool trains = request.settings.block == Block::Model && batches != nullptr && request.steps > 0;
  Settings settings = with_update(request.settings);
  settings.fusion = Fusion::Off;  // not fused, like the broken one
  report_.fault = request.fault;
  report_.bound = parity_bound(settings);
  report_.wanted_steps = trains ? request.steps : 0;
  report_.text = trains ? text : std::string();
  sound_plan_ = make_plan(plan_program(settings));
  report_.plan = make_plan(plan_broken(settings, request.fault));
  check_runnable(*report_.plan);
  refuse_if_crowded(*sound_plan_, trains ? 3 : 2);
  reference_ = std::make_unique<Executor>(sound_plan_);
  if (trains) {
    sound_ = std::make_unique<Trainer>(training(request, std::nullopt), batches, nullptr);
    broken_ = std::make_unique<Trainer>(training(request, request.fault), batches, nullptr);
  } else {
    one_pass_ = std::make_unique<Executor>(report_.plan);
  }
  reference_->wait();
}

void BreakRun::cancel() {
  const std::string why = "the comparison was stopped";
  reference_->cancel(why);
  if (one_pass_) one_pass_->cancel(why);
  if (sound_) sound_->executor().cancel(why);
  if (broken_) broken_->executor().cancel(why);
}

void BreakRun::step() {
  if (done()) return;
  if (broken_) return train_once();
  look_once();
}

// 1, 2, 5, 10, 20, 50 and so on, and the last.
bool BreakRun::is_looked_into(int64_t step) const {
  if (step == report_.wanted_steps) return true;
  int64_t leading = step;
  while (leading % 10 == 0) leading /= 10;
  return leading == 1 || leading == 2 || leading == 5;
}

// Runs the sound Program's next pass and keeps all its values.
std::shared_ptr<const SerialReference> BreakRun::right_values() {
  const Program& program = sound_plan_->program;
  const auto gather = std::make_shared<Gather>(program.tp(), is_compared);
  reference_->observe({gather});
  reference_->start(reference_->steps());
  reference_->wait();
  reference_->observe({});
  const auto values = std::make_shared<SerialReference>();
  for (const Tensor& tensor : program.tensors) {
    // A sum comes after its terms and overwrites the sum of the terms that was computed here.
    const auto found = gather->tensors().find(tensor.name);
    if (found != gather->tensors().end()) values->on_tensor(0, -1, tensor, found->second.bytes.data());
  }
  return values;
}

void BreakRun::take_probe(int64_t step, const ParityCheck& check) {
  const Program& program = report_.plan->program;
  const auto results = check.results();
  auto probe = std::make_shared<BreakProbe>();
  probe->step = step;
  const auto take = [&](TensorId id, StepId writer) {
    const auto& parity = results[static_cast<size_t>(id)];
    if (!parity) return;
    if (!parity->within_bound() && probe->first < 0) probe->first = static_cast<int>(probe->errors.size());
    probe->errors.push_back({id, writer, parity->relative_error, parity->relative_to_terms,
                             parity->ranks_identical, !parity->within_bound()});
  };
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind == MemoryKind::Weight && tensor.storage == kNoTensor) take(tensor.id, -1);
  }
  for (const Step& one : program.steps) {
    for (const TensorId id : one.outputs) take(id, one.id);
  }
  report_.probes.push_back(std::move(probe));
}

void BreakRun::look_once() {
  const auto check = std::make_shared<ParityCheck>(report_.plan->program, right_values(), false);
  one_pass_->observe({check});
  one_pass_->start(one_pass_->steps());
  one_pass_->wait();
  take_probe(0, *check);
}

void BreakRun::train_once() {
  const int64_t number = broken_->steps_done() + 1;
  std::shared_ptr<ParityCheck> check;
  if (is_looked_into(number)) {
    copy_state(broken_->executor(), report_.plan->program, *reference_, sound_plan_->program);
    reference_->next_pass(broken_->inputs_of(number));
    check = std::make_shared<ParityCheck>(report_.plan->program, right_values(), false);
    broken_->observe({check});
  }
  const StepReport sound = sound_->step();
  try {
    const StepReport broken = broken_->step();
    report_.steps.push_back({sound.loss, broken.loss, sound.gradient_norm, broken.gradient_norm});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Run) throw;
    report_.ended = error.what();
  }
  if (!check || !report_.ended.empty()) return;
  broken_->observe({});
  take_probe(number, *check);
}

}  // namespace shardlens
