// What the studio shows of planted faults, as immutable data, and the commands that it can send: the faults
// that can be planted in the present settings, and one comparison of a sound and a broken run as it
// progresses.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/planner/break_settings.h"
#include "engine/train/experiments/break_report.h"

namespace shardlens {

/// A fault, for the settings in `looked_at`.
struct BreakChoice {
  Fault fault = Fault::SkipF;
  bool possible = false;
  std::optional<BreakSettings>
      remedy;  ///< if not possible: the settings that would make it possible; none if nothing does
  std::optional<FaultPlace> place;  ///< in these settings, else in the remedy's; none if nothing helps
};

enum class BreakState { Idle, Preparing, Running, Done, Stopped, Refused, Failed };

struct BreakSnapshot {
  uint64_t version = 0;
  BreakState state = BreakState::Idle;
  std::string message;                ///< why Refused or Failed, and what would help
  std::optional<Settings> looked_at;  ///< the settings of these choices
  std::vector<BreakChoice> choices;
  /// A whole toy model with the cuts of those settings, which trains in seconds. None if the settings are
  /// already such a model.
  std::optional<BreakSettings> toy;
  std::optional<Fault> planted;               ///< the fault that is switched on
  std::shared_ptr<const BreakReport> report;  ///< its report; null until its Programs are planned

  bool is_active() const { return state == BreakState::Preparing || state == BreakState::Running; }
};

namespace break_command {
/// Finds out which faults can be planted in these settings. A present run continues.
struct Look {
  Settings settings;
};
/// Stops the present run, and runs these settings sound and broken.
struct Start {
  Settings settings;
  Fault fault = Fault::SkipF;
  int64_t steps = 50;
};
struct Stop {};   ///< stops the run at once; its results stay
struct Clear {};  ///< the same, and deletes its results: the switch is off
}  // namespace break_command

using BreakCommand =
    std::variant<break_command::Look, break_command::Start, break_command::Stop, break_command::Clear>;

}  // namespace shardlens
