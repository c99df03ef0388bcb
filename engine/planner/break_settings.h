// Where a fault can be planted: a Program of these settings, or of settings changed as little as that takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/program/fault.h"

namespace shardlens {

/// `settings` as their Program is planned to be broken: of a whole model with its optimizer, so that what
/// happens to the gradients' norm is part of it.
Settings with_update(Settings settings);

/// plan_program() with the fault planted, in plain steps: a fault moves, copies or leaves out single ones.
Program plan_broken(Settings settings, Fault fault);

/// True when a Program of with_update(settings) gives the fault an opportunity. False too for settings that
/// are not valid. One layer is planned, however many there are.
bool has_opportunity(const Settings& settings, Fault fault);

/// What was changed to make a fault possible.
struct BreakSettings {
  Settings settings;
  std::string words;    ///< "split reversed, dropout 0.1": for a button; empty when nothing had to be
  std::string options;  ///< "--split reversed --dropout 0.1"
};

/// The settings nearest to `settings` that give the fault an opportunity, or nothing when none of those tried
/// does: another split, a whole model, dropout, another T.
std::optional<BreakSettings> break_settings(const Settings& settings, Fault fault);

}  // namespace shardlens
