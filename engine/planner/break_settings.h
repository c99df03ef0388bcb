// Finds settings whose Program a given fault can be planted in: the given settings, or settings changed as
// little as possible.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/program/fault.h"

namespace shardlens {

/// The settings from which a Program is planned to be broken. A whole model gets its optimizer, so that the
/// effect on the gradients' norm is visible.
Settings with_update(Settings settings);

/// plan_program() without fusion, with the fault planted in all replicas or in `replica` alone. A fault
/// moves, copies or leaves out single steps, so steps are not fused.
Program plan_broken(Settings settings, Fault fault, std::optional<int> replica = {});

/// True if the fault can be planted in a Program of with_update(settings). False also if the settings are not
/// valid. Plans only one layer of the model.
bool has_opportunity(const Settings& settings, Fault fault);

/// Where a fault sits: the Program of one layer with the fault in it (of a whole model also embedding, loss
/// and update), and the first step that it changes.
struct FaultPlace {
  std::shared_ptr<const Program> program;
  StepId step = -1;
};
/// Nothing if the fault cannot be planted in a Program of with_update(settings).
std::optional<FaultPlace> place_of(const Settings& settings, Fault fault);

/// What was changed so that a fault can be planted.
struct BreakSettings {
  Settings settings;
  std::string words;    ///< "split reversed, dropout 0.1": for a button; empty if nothing had to change
  std::string options;  ///< "--split reversed --dropout 0.1"
};

/// The settings nearest to `settings` in which the fault can be planted. Tries another split, a whole model,
/// dropout and another T. Returns nothing if none of those works.
std::optional<BreakSettings> break_settings(const Settings& settings, Fault fault);

}  // namespace shardlens
