// The pieces of the Break it tab: the error of every tensor as a strip, and the two runs' curves with what
// each check found.
#pragma once

#include "engine/train/experiments/break_report.h"
#include "ui/context.h"
#include "ui/plan/seen_break.h"

namespace shardlens::ui {

/// Neighbouring tensors of a probe that share a column of the strip.
struct StripColumn {
  size_t first = 0, end = 0;  ///< of BreakProbe::errors
  size_t worst = 0;           ///< index of the one that is drawn
  bool broken = false;
  bool ranks_differ = false;
};
/// At most `most` columns, in the probe's order.
std::vector<StripColumn> strip_columns(const BreakProbe& probe, size_t most);

/// Neighbouring tensors with one name: the layer's, or outside the layers that of the step's block.
struct StripStretch {
  std::string name;   ///< "layer 2", "embedding", "weights"
  std::string brief;  ///< "2", "embedding"
  Phase phase = Phase::Forward;
  bool weights = false;       ///< they exist before the pass
  size_t first = 0, end = 0;  ///< of BreakProbe::errors
};
std::vector<StripStretch> strip_stretches(const Program& program, const BreakProbe& probe);

/// The mistakes as cards, in as many columns as fit, and that a rank is lost. `in_full`: with what each is.
void draw_mistakes(const Context& context, ImVec2 at, float width, bool in_full);

/// A line with a title, what is shown of the run, and at its right the switch sound, broken, difference,
/// which holds for all panels. Returns its height.
float draw_side_switch(const Context& context, const SeenBreak& seen, ImVec2 at, float width,
                       const std::string& title);
/// The same above a tab that shows the run of a planted mistake, with a button that switches the mistake off.
/// Moves the cursor below it. Draws nothing if another run is shown.
void draw_break_head(const Context& context);

/// The width of the whole legend in its shortest form.
float least_legend_width(const Context& context, const BreakReport& report, const BreakProbe& probe);
/// What the strip's marks mean, between `at` (its middle height) and `right`: as much as fits.
void draw_break_legend(const Context& context, const BreakReport& report, const BreakProbe& probe, ImVec2 at,
                       float right);
/// The strip of one probe in `size` pixels from `min`: a click selects the tensor in every panel.
void draw_break_strip(const Context& context, const BreakReport& report, const BreakProbe& probe, ImVec2 min,
                      ImVec2 size);

/// The loss of both runs and the norm of their gradients, in `size` pixels from `min`.
void draw_break_curves(const Context& context, const BreakReport& report, ImVec2 min, ImVec2 size);

/// What one check found, or why it could find nothing: "step 1: grad.h.1.ln2.out, 0.71".
std::string found_words(const BreakReport& report, const Finding& finding);

/// Draws what each check found, one line each. Returns the height it took.
float draw_break_checks(const Context& context, const BreakReport& report, ImVec2 at, float width);
float break_checks_height(const Context& context);

/// The colour of the sound run's curve; the broken one's is the text's.
inline ImU32 sound_colour(const Theme& theme) {
  return theme.agreement;
}

}  // namespace shardlens::ui
