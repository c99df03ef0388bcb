// The pieces of the Traffic tab beside its table.
#pragma once

#include <vector>

#include "engine/cost/compare_splits.h"
#include "ui/context.h"
#include "ui/panels/traffic/traffic_rows.h"

namespace shardlens::ui {

/// Whole, forward, backward, and the time, as large figures. Returns the height it took.
float draw_summary(const Context& context, const std::vector<TrafficRow>& rows, ImVec2 at, float width);

/// The ground of a row that stands for a step: a click selects the step, and it shows which is selected,
/// which is under the mouse, and the phase. `list_id` tells the lists of a page apart. True under the mouse.
bool draw_step_row(const Context& context, const char* list_id, StepId step, Phase phase, ImVec2 at,
                   ImVec2 size);

/// The hardware whose links the prediction is for: the settings' own, or where that does not say its links
/// (this machine), the device chosen in the Memory tab.
const Hardware& priced_on(const Context& context);

/// The loss lens of a whole model: its loss fused and gathered, as planned and, once both were run, as
/// measured. Returns the height it took.
float draw_loss_lens(const Context& context, const LossLens& lens, ImVec2 at, float width);

/// The splits of one model beside each other: what each would make a rank send, compute and hold. A bar a
/// split, a segment a collective; a click runs the split. Returns the height it took.
float draw_splits(const Context& context, const std::vector<SplitCost>& splits, ImVec2 at, float width);

/// The second page: every step's time, predicted and measured, and the calibration of this machine; `reserve`
/// pixels at the head's right stay free. And the button that copies its table.
void draw_traffic_times(const Context& context, float reserve);
void copy_traffic_times(const Context& context, ImVec2 right_top);

}  // namespace shardlens::ui
