// What the Break it tab shows, and what of a planted mistake all panels show.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/train/experiments/break_snapshot.h"
#include "ui/plan/seen_break.h"

namespace shardlens::ui {

/// The parts of the Break it tab: the mistakes; where the error starts, with the Stage; how to see it, with
/// the training. A small window shows one at a time, a large one the mistakes beside one of the others.
enum class BreakPage { Faults, Errors, Loss };

struct BreakView {
  std::optional<Settings> asked;  ///< the settings whose possible faults the engine was asked for
  BreakPage page = BreakPage::Faults;
  int64_t probe = 0;  ///< the training step whose errors are shown; 0: the first with an error

  BreakSide side = BreakSide::Broken;
  bool left = false;  ///< the person went on with the run of the settings; Break it shows the mistake again

  std::optional<break_command::Start> planted;     ///< the last one, to plant it again
  std::optional<break_command::Start> taken_back;  ///< by undo; redo plants it again
  size_t planted_at = 0;  ///< changes.at() then: later changes of the settings are undone first
};

/// Plants a mistake in a copy with these settings, trains it for so many steps, and shows it.
void plant(const Context& context, const Settings& settings, Fault fault,
           int64_t steps = break_command::Start{}.steps);
/// Switches the mistake off: every panel shows the run of the settings again.
void take_back(const Context& context);
/// True if a mistake is planted and in view.
bool is_switched_on(const Context& context);
/// True if undo takes a mistake back, and redo plants it again: it is in view, and was the last change.
bool undo_takes_back(const Context& context);
bool redo_plants(const Context& context);

/// The settings in which a click on the mistake plants it: the wanted ones, or the nearest that make it
/// possible. Nothing if none do, and while the engine still looks for them.
std::optional<Settings> plantable(const Context& context, Fault fault);

}  // namespace shardlens::ui
