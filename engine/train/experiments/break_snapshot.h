// What the studio may know of planted faults, as immutable data, and what it may ask for: which can be
// planted at the present settings, and one comparison of a sound and a broken run while it grows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/planner/break_settings.h"
#include "engine/train/experiments/break_report.h"

namespace shardlens {

/// A fault at the settings looked at.
struct BreakChoice {
  Fault fault = Fault::SkipF;
  bool possible = false;
  std::optional<BreakSettings>
      remedy;  ///< of one that is not: what would make it so; none where nothing does
};

enum class BreakState { Idle, Preparing, Running, Done, Stopped, Refused, Failed };

struct BreakSnapshot {
  uint64_t version = 0;
  BreakState state = BreakState::Idle;
  std::string message;                ///< why Refused or Failed; names the remedy
  std::optional<Settings> looked_at;  ///< whose choices these are
  std::vector<BreakChoice> choices;
  /// A whole toy model, cut as those settings are: trained in seconds. Nothing where they are one already.
  std::optional<BreakSettings> toy;
  std::optional<Fault> planted;               ///< the one that is switched on
  std::shared_ptr<const BreakReport> report;  ///< of it; null until its Programs are planned

  bool is_active() const { return state == BreakState::Preparing || state == BreakState::Running; }
};

namespace break_command {
/// Finds out which faults can be planted at these settings. What runs goes on.
struct Look {
  Settings settings;
};
/// Gives up what runs, and runs these settings sound and broken.
struct Start {
  Settings settings;
  Fault fault = Fault::SkipF;
  int64_t steps = 50;
};
struct Stop {};   ///< gives up what runs at once; what it found so far stays
struct Clear {};  ///< the same, and forgets what it found: the switch is off
}  // namespace break_command

using BreakCommand =
    std::variant<break_command::Look, break_command::Start, break_command::Stop, break_command::Clear>;

}  // namespace shardlens
