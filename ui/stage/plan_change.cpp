// Compares two plans.
#include "ui/stage/plan_change.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "engine/planner/memory_plan.h"
#include "ui/widgets/format.h"

namespace shardlens::ui::stage {
namespace {

/// Steps of two plans are alike if they do the same with tensors of the same name, in the same pass and
/// layer.
using Likeness = std::tuple<std::string, Phase, int, Op>;

Likeness likeness(const Step& step) {
  return {step.name, step.phase, step.layer, step.op};
}

std::map<Likeness, int> counted(const Program& program) {
  std::map<Likeness, int> counts;
  for (const Step& step : program.steps) ++counts[likeness(step)];
  return counts;
}

std::string title_of(const Settings& before, const Settings& after) {
  std::vector<std::string> parts;
  const auto add = [&](const char* what, const std::string& from, const std::string& to) {
    if (from != to) parts.push_back(fmt::format("{} {} → {}", what, from, to));
  };
  add("model", before.model.title, after.model.title);
  add("part", to_string(before.block), to_string(after.block));
  add("T", std::to_string(before.tp), std::to_string(after.tp));
  add("split", before.split.name, after.split.name);
  if (parts.empty() && before.split != after.split) parts.push_back("another split");
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// True if steps can be told apart by their names. Another model, or another part of it, has other names for
/// what stays the same: "attn.proj.sum" of a layer is "h.0.attn.proj.sum" of the model.
bool have_the_same_steps(const Settings& before, const Settings& after) {
  return before.block == after.block && before.layer == after.layer && before.model == after.model;
}

int64_t collectives_of(const Program& program) {
  return std::count_if(program.steps.begin(), program.steps.end(),
                       [](const Step& step) { return is_collective(step.op); });
}

/// By the rank that sends most.
int64_t most_sent_bytes(const Plan& plan) {
  int64_t most = 0;
  for (const std::vector<StepCost>& steps : plan.cost) {
    int64_t sent = 0;
    for (const StepCost& step : steps) sent += step.sent_bytes;
    most = std::max(most, sent);
  }
  return most;
}

/// Of the rank that holds most.
int64_t most_held_bytes(const Plan& plan) {
  int64_t most = 0;
  for (const MemoryPlan& rank : plan.memory) {
    int64_t held = 0;
    for (const int64_t bytes : rank.arena_bytes) held += bytes;
    most = std::max(most, held);
  }
  return most;
}

std::string figures_of(const Plan& before, const Plan& after) {
  std::vector<std::string> parts;
  const int64_t more = collectives_of(after.program) - collectives_of(before.program);
  if (more == 0)
    parts.push_back(fmt::format("{} collectives as before", collectives_of(after.program)));
  else
    parts.push_back(fmt::format("{}{} collective{}", more > 0 ? "+" : "−", std::abs(more),
                                std::abs(more) == 1 ? "" : "s"));
  parts.push_back(fmt::format("{} → {} sent by a rank", bytes_text(most_sent_bytes(before)),
                              bytes_text(most_sent_bytes(after))));
  const auto held = static_cast<double>(most_held_bytes(before));
  if (held > 0) {
    constexpr double kManyTimes = 10;  // from here on a factor says more than a percentage
    const double times = static_cast<double>(most_held_bytes(after)) / held, share = times - 1;
    parts.push_back(times >= kManyTimes ? fmt::format("memory of a rank × {:.0f}", times)
                                        : fmt::format("memory of a rank {}{}", share < 0 ? "−" : "+",
                                                      format_percent(std::abs(share))));
  }
  return fmt::format("{}", fmt::join(parts, "  ·  "));
}

}  // namespace

PlanChange plan_change(const Plan& before, const Plan& after) {
  PlanChange change;
  change.title = title_of(before.program.settings, after.program.settings);
  if (change.title.empty()) return change;
  change.figures = figures_of(before, after);
  if (!have_the_same_steps(before.program.settings, after.program.settings)) return change;
  std::map<Likeness, int> old = counted(before.program);
  for (const Step& step : after.program.steps) change.came.push_back(--old[likeness(step)] < 0);
  for (const Step& step : before.program.steps) {
    const auto rest = old.find(likeness(step));
    if (rest == old.end() || rest->second <= 0 || !is_collective(step.op)) continue;
    --rest->second;
    change.left.push_back(step.name);
  }
  return change;
}

}  // namespace shardlens::ui::stage
