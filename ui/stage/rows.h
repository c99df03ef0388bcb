// The rows of the Stage, from top to bottom, as plain data: one row for each step, in the Program's order,
// with the texts at its left. They are made from the Program only, so the picture shows the program that
// runs.
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"
#include "ui/plan/sections.h"

namespace shardlens::ui::stage {

enum class RowKind {
  Heading,  ///< a block begins: "attention"
  Divider,  ///< the backward pass begins
  Input,    ///< a tensor that no step writes: X, or the gradient from the next layer
  Tensor,   ///< a step that computes
  Compact,  ///< a step whose output no step of this layer reads: the gradient of a weight or a bias
  Band,     ///< a collective: an event across all lanes
  Line,     ///< a conversion that sends nothing: f or g as the identity, a local slice
  LeftOut,  ///< a collective that a planted mistake leaves out: its place, across all lanes
  Kept,     ///< below it: what each rank goes on with instead
  Callout,  ///< a lesson's words about the row below or above it
};

/// True if each lane shows a tensor in such a row.
inline bool draws_tensor(RowKind kind) {
  return kind == RowKind::Input || kind == RowKind::Tensor || kind == RowKind::Compact ||
         kind == RowKind::Kept;
}

struct Row {
  RowKind kind = RowKind::Tensor;
  StepId step = -1;             ///< -1 for Heading, Divider, Input and Callout
  TensorId tensor = kNoTensor;  ///< what each lane draws
  TensorId matrix = kNoTensor;  ///< the weight a product uses, drawn small at its left
  TensorId vector = kNoTensor;  ///< the bias it adds
  Phase phase = Phase::Forward;
  std::string title;  ///< the equation's first clause, or the heading's word
  std::string note;   ///< note_of(): "column-parallel"
  /// The next row reads this row's slices as they are: the ranks do not meet between the two.
  bool hands_over = false;
  StepId from = -1;  ///< for an Input: the step outside the open part that wrote it; -1: fed before the run
  bool lit = false;  ///< by a lesson: it stands on a plate

  // Of a Callout, whose words are the title.
  int lines = 1;
  bool points_up = false;  ///< it is about the row above it
  int rank = -1;           ///< which it is about; -1: all
};

std::vector<Row> rows_of(const Program& program);
/// Turns the line of the identity that stands for a collective that was left out into two rows, LeftOut and
/// Kept.
void show_left_out(std::vector<Row>& rows, const Program& program, size_t row);
/// The rows of one part of a whole model: its own steps, with what comes from other parts as inputs.
std::vector<Row> rows_of(const Program& program, const Sections& sections, int section);

/// Leaves the rows from step `first` to step `last`, with the inputs and the heading right above them.
void keep_only(std::vector<Row>& rows, StepId first, StepId last);

/// Returns the height at scale 1. `zoom` stretches rows with tensors. Headings, dividers, bands and lines do
/// not grow; they shrink if `zoom` is below 1. A Callout keeps the height of one line.
float row_height(RowKind kind, float zoom);
inline constexpr float kRowGap = 6;
inline constexpr float kTensorRow = 56;
inline constexpr float kPlatePad = 8;  ///< between the edge of a plate and its rows

/// The place of each row, in pixels from the top of the first.
struct Stack {
  std::vector<float> top, height;
  float total = 0;

  /// Returns the row at `y`, or the row above `y` if `y` is in a gap; 0 above the first row, the last row
  /// below it.
  size_t at(float y) const;
};
Stack stack_rows(const std::vector<Row>& rows, float zoom, float scale);

/// Returns the zoom at which all rows fit in `height` pixels, at most 1 and at least `least`.
float fitting_zoom(const std::vector<Row>& rows, float height, float scale, float least);

}  // namespace shardlens::ui::stage
