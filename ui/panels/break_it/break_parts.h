// The pieces of the Break it tab: the error of every tensor as a strip, and the two runs' curves with what
// each check found.
#pragma once

#include "engine/train/experiments/break_report.h"
#include "ui/context.h"

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

/// Returns the tensor of `program` that corresponds to a tensor of the broken Program: the one of the same
/// name, else of the same value, else kNoTensor.
TensorId tensor_like(const Program& program, const Tensor& broken);

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

/// A relative error as text: "1.8", "0.033", "2.1e-7"; "not zero" if the right value is exactly zero.
std::string relative_error_text(double error);

/// The colour of the sound run's curve; the broken one's is the text's.
inline ImU32 sound_colour(const Theme& theme) {
  return theme.agreement;
}

}  // namespace shardlens::ui
