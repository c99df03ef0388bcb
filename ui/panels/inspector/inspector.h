// Shared by the Inspector's parts: the selected tensor, with its plan, samples and comparison.
#pragma once

#include <memory>

#include "engine/runtime/snapshot.h"
#include "ui/context.h"
#include "ui/panels/inspector/inspector_zoom.h"
#include "ui/plan/seen_break.h"
#include "ui/widgets/copy_table.h"
#include "ui/widgets/heatmap.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/whole_picture.h"

namespace shardlens::ui {

/// One tensor of the shown plan, and its data from the run.
struct Subject {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const Result> result;  ///< of `plan`; null before there is one
  StepId step = -1;                      ///< the selected step; -1: none
  TensorId tensor_id = kNoTensor;
  RankSamples samples;                         ///< [rank]; null where the step has not run yet
  std::shared_ptr<const TensorParity> parity;  ///< null: not compared
  ColourScale scale;                           ///< one for all ranks
  Zoom zoom;                                   ///< the part of it that every pane shows

  const Program& program() const { return plan->program; }
  const Tensor& tensor() const { return plan->program.tensor(tensor_id); }
  int tp() const { return plan->program.tp(); }
  bool is_partial() const { return tp() > 1 && tensor().layout.kind == LayoutKind::Partial; }
  bool has_samples() const;
};

/// The place where the next part is drawn. Each part moves it down, below itself.
struct Pen {
  ImDrawList* list;
  float x, y, width;
  TextTable facts{{{"what"}, {"value"}}, {}};  ///< of the part being drawn, for copying
};

/// A heatmap per rank with zoom, numbers in the cells, the place of its slice, and its rms.
void draw_rank_pictures(const Context& context, const Subject& subject, Pen& pen);
/// The ranks' pieces joined or summed, and the difference from the serial run.
void draw_against_serial(const Context& context, const Subject& subject, Pen& pen);
/// One rank's piece in the rectangle: values, outline by layout, numbers where they fit.
void draw_piece(const Context& context, const Subject& subject, int rank, ImVec2 min, ImVec2 max, Pen& pen);
float picture_height(const Context& context, const Subject& subject, float width);
/// A card: a bold line and sentences below it; dashed amber for Partial, as everywhere.
void draw_card(const Context& context, Pen& pen, const std::string& title, ImU32 title_colour,
               const std::vector<std::string>& sentences, ImU32 outline, bool dashed);
void draw_layout_card(const Context& context, const Subject& subject, Pen& pen);

/// The selected step line by line, where the Inspector is wide enough to read it.
void draw_derivation(const Context& context, const Subject& subject, Pen& pen);

/// The selected tensor of a planted mistake's run: what is wrong, every rank's hash, and for each rank what
/// the sound run held, what the broken one held, and the difference. The heads of the columns choose what the
/// other panels show.
void draw_broken_run(const Context& context, const Subject& subject, const SeenBreak& seen, Pen& pen);

/// The colours with their numbers.
void draw_colour_bar(const Context& context, const Subject& subject, Pen& pen);

/// Shape, bytes, statistics, producer and consumers, error, time.
void draw_facts(const Context& context, const Subject& subject, Pen& pen);
/// A collective's bytes, waiting and transfer on every rank.
void draw_collective_facts(const Context& context, const Subject& subject, Pen& pen);

/// Selects `tensor` where it is made: its producer's step, or the first step that reads it.
void select_tensor(ViewState& view, const Program& program, TensorId tensor);

inline TextStyle body_text(const Context& context, ImU32 colour) {
  return {context.fonts.body, context.px(kBodySize), colour};
}
inline TextStyle small_text(const Context& context, ImU32 colour) {
  return {context.fonts.body, context.px(kSmallSize), colour};
}
inline TextStyle bold_text(const Context& context, ImU32 colour) {
  return {context.fonts.bold, context.px(kBodySize), colour};
}
inline TextStyle small_bold_text(const Context& context, ImU32 colour) {
  return {context.fonts.bold, context.px(kSmallSize), colour};
}
inline TextStyle mono_text(const Context& context, ImU32 colour) {
  return {context.fonts.mono, context.px(kSmallSize), colour};
}

}  // namespace shardlens::ui
