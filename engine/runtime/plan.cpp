// Makes plans, and checks them before a run.
#include "engine/runtime/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <numeric>
#include <string>

#include "engine/base/counted.h"
#include "engine/base/limits.h"
#include "engine/base/machine.h"
#include "engine/config/validate.h"
#include "engine/device/device.h"
#include "engine/device/gpu_plugin.h"
#include "engine/planner/planner.h"
#include "engine/runtime/choose.h"
#include "engine/runtime/gpu_room.h"
#include "engine/runtime/processes/process_world.h"

namespace shardlens {
namespace {

// Returns the value of `key` in a file of "key : value" lines, or nothing.
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
  for (int rank = 0; rank < plan->program.tp(); ++rank) {
    plan->memory.push_back(plan_memory(plan->program, rank));
    plan->cost.push_back(price(plan->program, hardware, rank));
  }
  plan->plan_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return plan;
}

// The part of all ranks' bytes that this machine's memory must hold: all of them, or the share of its
// processes.
struct Share {
  int64_t ranks = 1, of = 1;
};

Share share_of_this_machine(const ProcessWorld* world) {
  if (world == nullptr) return {};
  return {world->most_ranks_on_a_machine(), world->processes()};
}

// The GPUs that the plan's ranks compute on; empty on the CPU.
std::vector<GpuRoom> rooms_of(const Plan& plan, const ProcessWorld* world) {
  const Settings& settings = plan.program.settings;
  if (world != nullptr) return world->gpu_rooms(settings);
  const GpuFacts facts = settings.backend == BackendChoice::Cpu ? GpuFacts{} : gpu_facts();
  return gpu_rooms(settings, choose(settings, facts), facts);
}

}  // namespace

std::shared_ptr<const Plan> make_plan(Program program) {
  return planned(std::move(program));
}

std::shared_ptr<const Plan> make_plan(const Settings& settings) {
  std::shared_ptr<Plan> plan = planned(plan_program(settings));
  plan->delays = plan_delays(plan->program);
  // The differences between the splits repeat from layer to layer: for a whole model, one layer is compared.
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
      if (is_recomputed(step)) continue;
      const StepCost& cost = rank[static_cast<size_t>(step.id)];
      const int64_t step_flops = program.settings.model.causal ? cost.causal_flops : cost.flops;
      // If P was not kept, one of the five products of attention's gradient computes Q·Kᵀ again.
      const bool repeats = step.op == Op::AttentionGrad && program.settings.recompute == Recompute::Selective;
      flops += repeats ? step_flops / 5 * 4 : step_flops;
    }
  }
  return flops * program.dp();
}

int64_t run_bytes(const Plan& plan) {
  int64_t bytes = 0;
  for (const MemoryPlan& memory : plan.memory) bytes += total_bytes(memory.arena_bytes);
  return bytes * plan.program.dp();
}

std::vector<int64_t> arena_bytes_by_rank(const Plan& plan) {
  std::vector<int64_t> bytes;
  for (int replica = 0; replica < plan.program.dp(); ++replica)
    for (const MemoryPlan& memory : plan.memory) bytes.push_back(total_bytes(memory.arena_bytes));
  return bytes;
}

MemoryDemand memory_demand(const Plan& plan, const std::vector<int64_t>& rank_bytes, int64_t host_bytes) {
  const auto* const world = dynamic_cast<const ProcessWorld*>(&world_of(plan));
  return tightest_demand(rooms_of(plan, world), rank_bytes, host_bytes, available_memory_bytes());
}

void check_runnable(const Plan& plan) {
  const Settings& settings = plan.program.settings;
  validate_executable(settings);
  const bool evaluation = is_evaluation(plan.program);
  const auto* const world = dynamic_cast<const ProcessWorld*>(&world_of(plan));
  const std::vector<GpuRoom> rooms = rooms_of(plan, world);
  const bool packs = !rooms.empty() && rooms.front().by_nccl;
  const auto needs = [&](const Settings& smaller) {
    const Program program =
        evaluation && smaller.cache_tokens == 0 ? plan_evaluation(smaller) : plan_program(smaller);
    std::vector<int64_t> bytes;
    for (int rank = 0; rank < program.tp(); ++rank)
      bytes.push_back(total_bytes(plan_memory(program, rank).arena_bytes) +
                      (packs ? packed_copy_bytes(program, rank) : 0));
    return bytes;
  };
  if (!rooms.empty()) return refuse_if_gpus_too_full(settings, rooms, needs);
  const Share share = share_of_this_machine(world);
  const MemoryRoom room = memory_left();
  const auto needed = [&](const Settings& smaller) {
    const std::vector<int64_t> bytes = needs(smaller);
    return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}) * plan.program.dp() * share.ranks /
           share.of;
  };
  refuse_if_too_large(settings, room.bytes, needed, {"", "", room.limit});
}

std::string machine_description() {
  static const std::string cpu = value_in("/proc/cpuinfo", "model name");
  return fmt::format("{}, {}", cpu.empty() ? kUnnamedProcessor : cpu, counted(available_cores(), "core"));
}

std::string machine_description(const Settings& settings, const GpuFacts& facts) {
  std::vector<std::string> cards;
  for (const Gpu& gpu : facts.gpus) {
    const bool taken = settings.gpus.empty() || std::ranges::count(settings.gpus, gpu.number) > 0;
    if (taken && std::ranges::count(cards, gpu.name) == 0) cards.push_back(gpu.name);
  }
  cards.push_back(machine_description());
  return fmt::format("{}", fmt::join(cards, ", "));
}

std::string machine_description(const Settings& settings) {
  if (settings.backend == BackendChoice::Cpu) return machine_description();
  static const GpuFacts facts = gpu_facts();  // asking takes time, and cards stay what they are
  return machine_description(settings, facts);
}

}  // namespace shardlens
