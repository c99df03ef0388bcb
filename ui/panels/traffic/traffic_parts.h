// The parts of the Traffic tab other than its table.
#pragma once

#include <vector>

#include "engine/cost/compare_splits.h"
#include "ui/context.h"
#include "ui/panels/traffic/traffic_rows.h"

namespace shardlens::ui {

/// Draws the bytes in all, forward and backward, and the time, as large figures. Returns the height it took.
float draw_summary(const Context& context, const std::vector<TrafficRow>& rows, ImVec2 at, float width);

/// Draws the ground of a step's row. It shows the phase, and whether the row is `selected` or under the mouse.
/// A click selects the step. `list_id` distinguishes the lists of a page. Returns true if the mouse is over
/// the row.
bool draw_step_row(const Context& context, const char* list_id, const Step& step, bool selected, ImVec2 at,
                   ImVec2 size);

/// Draws the collectives as a class reads them. Returns the height they took.
float draw_rows_in_class(const Context& context, const std::vector<TrafficRow>& rows,
                         const std::string& title, ImVec2 at, float width);

/// The hardware whose links the prediction of this Program is for: its settings' own, or if that states no
/// links (this machine), the device chosen in the Memory tab.
const Hardware& priced_on(const Context& context, const Program& program);

/// Draws the loss lens of a whole model: its loss fused and gathered, as planned and, after both have run, as
/// measured. Returns the height it took.
float draw_loss_lens(const Context& context, const LossLens& lens, ImVec2 at, float width);

/// Draws the splits of one model in a list: what a rank would send, compute and hold with each. One bar for
/// each split, one segment for each collective; a click runs the split. Returns the height it took.
float draw_splits(const Context& context, const std::vector<SplitCost>& splits, ImVec2 at, float width);

/// Draw the second page (every step's time, predicted and measured, and the calibration of this machine) and
/// the button that copies its table. `reserve` pixels at the head's right stay free.
void draw_traffic_times(const Context& context, float reserve);
void copy_traffic_times(const Context& context, ImVec2 right_top);

}  // namespace shardlens::ui
