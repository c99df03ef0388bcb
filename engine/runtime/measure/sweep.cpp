// Plans and runs one degree after the other.
#include "engine/runtime/measure/sweep.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/config/validate.h"
#include "engine/planner/break_settings.h"
#include "engine/planner/planner.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/sampler.h"

namespace shardlens {
namespace {

constexpr auto kWeight = static_cast<size_t>(MemoryKind::Weight);

int64_t whole_on_every_rank(const Program& program) {
  int64_t bytes = 0;
  for (const Tensor& tensor : program.tensors) {
    const bool counts = tensor.kind == MemoryKind::Weight && tensor.storage == kNoTensor;
    if (counts && tensor.layout.kind == LayoutKind::Replicated) bytes += tensor.bytes();
  }
  return bytes;
}

// The first layer represents every layer, and the first part every part.
int collectives_of_a_layer(const Program& program, Phase phase) {
  const Settings& settings = program.settings;
  const bool whole = settings.block == Block::Model;
  int count = 0;
  for (const Step& step : program.steps)
    count +=
        is_collective(step.op) && step.axis == Axis::Tp && step.phase == phase && (!whole || step.layer == 0);
  return whole ? count / settings.micro_batches : count;
}

size_t fullest_rank(const Plan& plan) {
  const auto fullest =
      std::max_element(plan.memory.begin(), plan.memory.end(), [](const MemoryPlan& a, const MemoryPlan& b) {
        return a.arena_bytes[kWeight] < b.arena_bytes[kWeight];
      });
  return static_cast<size_t>(fullest - plan.memory.begin());
}

}  // namespace

bool Sweep::agrees() const {
  bool any = false;
  for (const SweepPoint& point : points) {
    if (!point.measured) continue;
    any = true;
    if (!point.agrees) return false;
  }
  return any;
}

Sweeper::Sweeper(const Settings& settings, const std::vector<int>& degrees, std::optional<Fault> fault)
    : fault_(fault) {
  sweep_.settings = settings;
  const Hardware& hardware = find_hardware(settings.hardware);
  sweep_.predicted_on = hardware.title + ": " + hardware.basis;
  sweep_.measured_on = machine_description(settings);
  int64_t all_weight_bytes = 0;
  try {
    Settings serial = settings;
    serial.tp = 1;
    all_weight_bytes = plan_memory(plan_program(serial), 0).arena_bytes[kWeight];
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Request) throw;  // below, every degree reports the error
  }
  for (const int tp : degrees) {
    SweepPoint point;
    point.tp = tp;
    if (tp > 0) point.ideal_weight_bytes = static_cast<double>(all_weight_bytes) / tp;
    plan(point);
    sweep_.points.push_back(std::move(point));
  }
}

Program Sweeper::program_at(int tp) const {
  Settings settings = sweep_.settings;
  settings.tp = tp;
  return fault_ ? plan_broken(settings, *fault_) : plan_program(settings);
}

void Sweeper::plan(SweepPoint& point) {
  try {
    const std::shared_ptr<const Plan> plan = make_plan(program_at(point.tp));
    const Program& program = plan->program;
    const size_t rank = fullest_rank(*plan);
    point.weight_bytes = plan->memory[rank].arena_bytes[kWeight];
    point.replicated_weight_bytes = whole_on_every_rank(program);
    point.forward_collectives = collectives_of_a_layer(program, Phase::Forward);
    point.backward_collectives = collectives_of_a_layer(program, Phase::Backward);
    for (const Step& step : program.steps) point.sent_bytes += sent_bytes(program, step.id);
    point.predicted_seconds = compare_times(*plan, {}).predicted_seconds;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Request) throw;
    point.refused = error.what();
  }
}

Job<std::shared_ptr<const SerialReference>> Sweeper::serial_at(const Settings& settings, const Plan& sharded,
                                                               RunWish wish) {
  const std::shared_ptr<const Plan> plan = make_plan(plan_serial(settings));
  if (serial_ && plan->program.settings == serial_settings_) co_return serial_;
  serial_ = nullptr;  // freed before its successor is made
  if (const std::string why = why_not_comparable(sharded, *plan); !why.empty()) throw request_error(why);
  auto reference = std::make_shared<SerialReference>();
  std::vector<std::shared_ptr<StepObserver>> observers{reference};
  co_await observe_in_pieces(plan, std::move(observers), wish);
  serial_ = reference;
  serial_settings_ = plan->program.settings;
  co_return serial_;
}

Job<> Sweeper::run(SweepPoint& point, RunWish wish) {
  const std::shared_ptr<const Plan> plan = make_plan(program_at(point.tp));
  check_runnable(*plan);
  Settings settings = sweep_.settings;
  settings.tp = point.tp;
  const std::shared_ptr<const SerialReference> serial = co_await serial_at(settings, *plan, wish);
  auto check = std::make_shared<ParityCheck>(plan->program, serial, false);
  std::vector<std::shared_ptr<StepObserver>> observers{std::make_shared<FiniteCheck>(plan->program.tp()),
                                                       check};
  const MeasuredRun run = co_await measure_in_pieces(plan, std::move(observers), wish);
  const ParityTable table = check->results();
  const ParitySummary summary = summarise(plan->program, table);
  const auto name = [&](TensorId id) { return id == kNoTensor ? "" : plan->program.tensor(id).name; };
  point.measured_weight_bytes = run.high_water_bytes[fullest_rank(*plan)][kWeight];
  point.measured_seconds = run.times.measured_seconds;
  point.agrees = summary.agrees;
  point.worst_relative_error = summary.worst_relative_error;
  point.bound = parity_bound(settings);
  if (summary.worst_relative_error > 0) {
    point.worst_tensor = name(summary.worst_tensor);
    point.bound = table[static_cast<size_t>(summary.worst_tensor)]->bound;
  }
  point.first_broken = name(summary.first_broken);
  point.coverage = summary.coverage;
  point.measured = true;
}

Job<> Sweeper::run_next(RunWish wish) {
  SweepPoint& point = sweep_.points[next_];
  try {
    if (point.planned()) co_await run(point, wish);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Request) throw;
    point.refused = error.what();
  }
  ++next_;
}

std::vector<int> swept_degrees(const Settings& settings) {
  std::vector<int> degrees = possible_degrees(settings.model, settings.block, settings.heads_policy);
  const bool any = settings.block == Block::Mlp || settings.heads_policy != HeadsPolicy::Strict;
  std::erase_if(degrees, [any](int tp) {
    return tp > kSweptDegrees.back() ||
           (any && !std::binary_search(kSweptDegrees.begin(), kSweptDegrees.end(), tp));
  });
  return degrees;
}

}  // namespace shardlens
