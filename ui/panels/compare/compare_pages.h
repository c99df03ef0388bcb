// The pages of the Compare tab and what they share.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/runtime/measure/split_trials.h"
#include "ui/context.h"

namespace shardlens::ui {

/// Two or three splits side by side (compare_splits.cpp, compare_totals.cpp).
void draw_side_by_side(const Context& context);
/// Every legal split ranked by predicted time (compare_tournament.cpp).
void draw_tournament(const Context& context);
/// One split at several T (compare_sweep.cpp).
void draw_sweep(const Context& context);

/// Two recordings: where did they part, and what took longer (compare_recordings.cpp).
void draw_recordings(const Context& context);
/// The width of the choice of pages, at the right of every page's title.
float compare_choice_width(const Context& context);

/// Draws what each split costs, below its column: `lefts` and `width` are the columns'. Returns the height it
/// took; if `draw` is false, it only computes the height. `low`: there is little room.
float draw_totals(const Context& context, const SplitTrials& trials, const std::vector<float>& lefts, float y,
                  float width, bool low, bool draw);

/// False if the hardware does not state its speed, as this machine before it is calibrated. `all`: a vector
/// of SplitTrial or SweepPoint.
bool has_estimates(const auto& all) {
  return std::any_of(all.begin(), all.end(), [](const auto& one) { return one.predicted_seconds > 0; });
}

/// "Estimated on H100 80 GB: data-sheet peaks", "No estimate for this machine, 2 cores: not calibrated yet".
inline std::string estimate_words(bool has_some, const std::string& predicted_on) {
  return (has_some ? "Estimated on " : "No estimate for ") + predicted_on + ".";
}

/// Why nothing can be measured now: ranks that compute for something else would be timed too. Empty: it can.
std::string why_not_measured(const Context& context);

struct CompareHead {
  bool pressed = false;  ///< the button that measures
  ImVec2 beside;         ///< left of that button, at the middle of its height: another control ends there
};
/// Draws the head of a page, and at the right, below the choice of pages, the button that measures: `label`,
/// or "Stop" while something is measured. `refused`: why it cannot be clicked.
CompareHead compare_head(const Context& context, const std::string& title, const std::string& explanation,
                         const std::string& label, const std::string& refused);

/// `settings` with a fixed split, or with T = 1: two of them are equal if they differ only in the split, or
/// only in T.
Settings but_for_split(Settings settings);
Settings but_for_degree(Settings settings);

/// "Out of date: this is ..." if `of` are not the wanted settings; else empty.
std::string out_of_date(const Settings& of, const Settings& wanted);

}  // namespace shardlens::ui
