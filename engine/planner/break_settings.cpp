// Tries candidate settings on one layer of the model, those with the smallest change first.
#include "engine/planner/break_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "engine/base/error.h"
#include "engine/config/splits.h"
#include "engine/config/validate.h"
#include "engine/planner/planner.h"

namespace shardlens {
namespace {

constexpr double kDropout = 0.1;  // the paper's
constexpr int kMostTried = 8;     // degrees

Settings one_layer_of(Settings settings) {
  settings.model.layers = 1;
  settings.layer = 0;
  return settings;
}

Settings with_split(Settings settings, const FaultNeeds& needs) {
  const LossForm loss = settings.split.loss;
  if (*needs.split != '\0') settings.split = named_split(needs.split);
  settings.split.loss = loss;
  if (needs.norm && settings.split.norm != *needs.norm) {
    settings.split.norm = *needs.norm;
    const std::vector<Split>& named = named_splits();
    const auto same = std::find_if(named.begin(), named.end(), [&](Split split) {
      split.name = settings.split.name;
      return split == settings.split;
    });
    settings.split.name = same != named.end() ? same->name : "custom";
  }
  return settings;
}

// The changes that every candidate needs, for any split and T.
Settings with_basics(Settings settings, const FaultNeeds& needs) {
  settings.cache_tokens = 0;
  if (needs.whole_model || needs.dropout) {
    settings.block = Block::Model;
    settings.operands = Operands::Normal;
  }
  if (needs.dropout && settings.dropout == 0) settings.dropout = kDropout;
  return settings;
}

// The possible degrees T, sorted by their distance from the current T, which comes first.
std::vector<int> degrees_near(const Settings& settings, const FaultNeeds& needs) {
  std::vector<int> degrees = possible_degrees(settings.model, settings.block, settings.heads_policy);
  std::erase_if(degrees, [&](int tp) { return needs.several_ranks && tp < 2; });
  std::stable_sort(degrees.begin(), degrees.end(),
                   [&](int a, int b) { return std::abs(a - settings.tp) < std::abs(b - settings.tp); });
  if (degrees.size() > kMostTried) degrees.resize(kMostTried);
  return degrees;
}

struct Change {
  std::string words, option;
};

std::vector<Change> changes(const Settings& from, const Settings& to) {
  std::vector<Change> list;
  if (to.block != from.block) {
    const bool whole = to.block == Block::Model;
    list.push_back({whole ? "whole model" : "the whole layer", whole ? "(no --layer)" : "--layer"});
  }
  if (to.tp != from.tp) list.push_back({fmt::format("T = {}", to.tp), fmt::format("--tp {}", to.tp)});
  if (to.split.name != from.split.name && to.split.name != "custom")
    list.push_back({"split " + to.split.name, "--split " + to.split.name});
  else if (to.split.norm != from.split.norm) {
    const std::string norm = to_string(to.split.norm);
    list.push_back({"norm " + norm, fmt::format("--split with \"norm\": \"{}\"", norm)});
  }
  if (to.dropout != from.dropout)
    list.push_back({fmt::format("dropout {}", to.dropout), fmt::format("--dropout {}", to.dropout)});
  return list;
}

}  // namespace

Settings with_update(Settings settings) {
  settings.update = settings.block == Block::Model && settings.cache_tokens == 0;
  return settings;
}

Program plan_broken(Settings settings, Fault fault, std::optional<int> replica) {
  settings.fusion = Fusion::Off;
  return replica ? plant_in_replica(plan_program(settings), fault, *replica)
                 : plant(plan_program(settings), fault);
}

bool has_opportunity(const Settings& settings, Fault fault) {
  try {
    plan_broken(one_layer_of(with_update(settings)), fault);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::optional<FaultPlace> place_of(const Settings& settings, Fault fault) {
  Settings one = one_layer_of(with_update(settings));
  one.fusion = Fusion::Off;
  try {
    const Program sound = plan_program(one);
    auto broken = std::make_shared<Program>(plant(sound, fault));
    const auto is_changed = [&](const Step& step) {
      if (!(step == sound.step(step.id))) return true;
      const auto differs = [&](TensorId id) { return !(broken->tensor(id) == sound.tensor(id)); };
      return std::any_of(step.outputs.begin(), step.outputs.end(), differs) ||
             std::any_of(step.inputs.begin(), step.inputs.end(), differs);
    };
    const auto first = [&](const auto& is_wanted) {
      const auto found = std::find_if(broken->steps.begin(), broken->steps.end(), is_wanted);
      return found == broken->steps.end() ? -1 : found->id;
    };
    // The bias before this GeLU is changed too, but so that it stays right.
    if (fault == Fault::GeluOnPartial)
      return FaultPlace{broken,
                        first([&](const Step& step) { return step.op == Op::Gelu && is_changed(step); })};
    return FaultPlace{broken, first(is_changed)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<BreakSettings> break_settings(const Settings& settings, Fault fault) {
  const FaultNeeds& needs = facts_of(fault).settings;
  std::optional<Settings> found;
  const auto try_out = [&](const Settings& candidate) {
    if (!found && has_opportunity(candidate, fault)) found = candidate;
  };
  try_out(settings);
  for (const Block block : {settings.block, Block::Layer, Block::Model}) {
    Settings basic = settings;
    basic.block = block;
    basic = with_basics(basic, needs);
    for (const Settings& cut : {basic, with_split(basic, needs)}) {
      for (const int tp : degrees_near(cut, needs)) {
        if (found) break;
        Settings candidate = cut;
        candidate.tp = tp;
        try_out(candidate);
      }
    }
  }
  if (!found) return std::nullopt;
  BreakSettings result{*found, {}, {}};
  for (const Change& change : changes(settings, *found)) {
    result.words += (result.words.empty() ? "" : ", ") + change.words;
    result.options += (result.options.empty() ? "" : " ") + change.option;
  }
  return result;
}

}  // namespace shardlens
