// The parts of the page that compares two recordings.
#pragma once

#include <memory>

#include "engine/train/experiments/diff_session.h"
#include "ui/context.h"
#include "ui/panels/recordings/recordings_rows.h"
#include "ui/widgets/sort_order.h"

namespace shardlens::ui {

/// The rows of a comparison, computed once, and their places in the chosen order.
const std::vector<DiffRow>& shown_rows(const std::shared_ptr<const ComparedRuns>& runs);
const std::vector<size_t>& shown_places(const std::shared_ptr<const ComparedRuns>& runs,
                                        const SortOrder& order);

/// The colour of a run; its letter is drawn beside it.
ImU32 run_colour(const Theme& theme, bool is_b);

// Each draws into `size` pixels from `min`.
void draw_diff_steps(const Context& context, const std::shared_ptr<const ComparedRuns>& runs, ImVec2 min,
                     ImVec2 size);
void draw_diff_totals(const Context& context, const ComparedRuns& runs, ImVec2 min, ImVec2 size);
void draw_diff_memory(const Context& context, const ComparedRuns& runs, ImVec2 min, ImVec2 size);
void draw_diff_metrics(const Context& context, const ComparedRuns& runs, ImVec2 min, ImVec2 size);

/// The step of the shown Program that corresponds to `row`; -1: there is none.
StepId shown_step(const Context& context, const ComparedRuns& runs, const DiffRow& row);
/// Selects the row here and its step in the other panels. If the two runs part in this step, the replay goes
/// to that pass.
void select_row(const Context& context, const ComparedRuns& runs, const DiffRow& row, int place);
/// Opens A or B at the place where the two part, or at its first pass.
void show_parting(const Context& context, const ComparedRuns& runs, bool in_b);

}  // namespace shardlens::ui
