// Plans, and the gate before a run.
#include "engine/runtime/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <string>

#include "engine/config/validate.h"
#include "engine/device/device.h"
#include "engine/device/gpu_module.h"
#include "engine/planner/planner.h"
#include "engine/runtime/choose.h"
#include "engine/runtime/process_world.h"

namespace shardlens {
namespace {

// The value of `key` in a file of "key : value" lines, or nothing.
std::string value_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const size_t value = line.find_first_not_of(" \t:", key.size());
    return value == std::string::npos ? std::string() : line.substr(value);
  }
  return {};
}

std::shared_ptr<Plan> planned(Program program) {
  const auto begin = std::chrono::steady_clock::now();
  auto plan = std::make_shared<Plan>();
  plan->program = std::move(program);
  const Hardware& hardware = find_hardware(plan->program.settings.hardware);
  for (int rank = 0; rank < plan->program.ranks(); ++rank) {
    plan->memory.push_back(plan_memory(plan->program, rank));
    plan->cost.push_back(price(plan->program, hardware, rank));
  }
  plan->plan_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return plan;
}

// Where a run's arenas go: what is free there, and which part of all ranks' bytes it must hold.
struct Room {
  int64_t bytes = 0;
  int64_t shares = 1, of = 1;
};

Room room_for(const Plan& plan) {
  const Settings& settings = plan.program.settings;
  const int64_t ranks = plan.program.ranks() * plan.program.replicas();
  const auto* const world = dynamic_cast<const ProcessWorld*>(&world_of(plan));
  if (world != nullptr) {
    // A machine holds the share of its processes; how full other machines' GPUs are, only their drivers know.
    const bool on_gpus = world->choose(settings).on_gpus;
    return {on_gpus ? std::numeric_limits<int64_t>::max() : available_memory_bytes(),
            world->most_ranks_on_a_machine(), world->processes()};
  }
  const GpuFacts facts = settings.backend == BackendChoice::Cpu ? GpuFacts{} : gpu_facts();
  const Choice choice = choose(settings, facts);
  if (!choice.on_gpus) return {available_memory_bytes(), 1, 1};
  const GpuRoom room = room_on_gpus(choice, facts);
  return {room.least_bytes * room.gpus, int64_t{room.most_ranks} * room.gpus, ranks};
}

}  // namespace

std::shared_ptr<const Plan> make_plan(Program program) {
  return planned(std::move(program));
}

std::shared_ptr<const Plan> make_plan(const Settings& settings) {
  std::shared_ptr<Plan> plan = planned(plan_program(settings));
  plan->holds = plan_holds(plan->program);
  // What the splits differ in repeats from layer to layer: of a whole model, one layer is compared.
  Settings compared = settings;
  if (compared.block == Block::Model) {
    compared.block = Block::Layer;
    compared.batch = settings.micro_batch();
    compared.dp = 1;
    compared.update = false;
    compared.cache_tokens = 0;
  }
  const std::vector<int> possible = possible_degrees(compared.model, compared.block, compared.heads_policy);
  if (std::find(possible.begin(), possible.end(), compared.tp) != possible.end())
    plan->splits = compare_splits(compared);
  return plan;
}

int64_t model_flops(const Plan& plan) {
  const Program& program = plan.program;
  int64_t flops = 0;
  for (const std::vector<StepCost>& rank : plan.cost) {
    for (const Step& step : program.steps) {
      const bool again = step.phase == Phase::Backward && (step.op == Op::Linear || step.op == Op::Attention);
      if (again) continue;
      const StepCost& cost = rank[static_cast<size_t>(step.id)];
      const int64_t step_flops = program.settings.model.causal ? cost.causal_flops : cost.flops;
      // Of the five products of attention's gradient one is Q·Kᵀ again, where P was not kept.
      const bool repeats = step.op == Op::AttentionGrad && program.settings.recompute == Recompute::Selective;
      flops += repeats ? step_flops / 5 * 4 : step_flops;
    }
  }
  return flops * program.replicas();
}

int64_t run_bytes(const Plan& plan) {
  int64_t bytes = 0;
  for (const MemoryPlan& memory : plan.memory) bytes += total_bytes(memory.arena_bytes);
  return bytes * plan.program.replicas();
}

void check_runnable(const Plan& plan) {
  const Settings& settings = plan.program.settings;
  validate_executable(settings);
  const Room room = room_for(plan);
  const bool evaluation = is_evaluation(plan.program);
  refuse_if_too_large(settings, room.bytes, [&](const Settings& smaller) {
    const Program program =
        evaluation && smaller.cache_tokens == 0 ? plan_evaluation(smaller) : plan_program(smaller);
    int64_t bytes = 0;
    for (int rank = 0; rank < program.ranks(); ++rank)
      bytes += total_bytes(plan_memory(program, rank).arena_bytes);
    return bytes * program.replicas() * room.shares / room.of;
  });
}

std::string machine_description() {
  const std::string cpu = value_in("/proc/cpuinfo", "model name");
  const int cores = available_cores();
  return fmt::format("{}, {} {}", cpu.empty() ? "unknown CPU" : cpu, cores, cores == 1 ? "core" : "cores");
}

}  // namespace shardlens
