// What the Stage shows, from top to bottom, as plain data: one row a step, in the Program's order, with the
// words at its left. Made from the Program alone, so the picture on screen is the program that runs.
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
  Compact,  ///< a step whose output nobody reads in this layer: the gradient of a weight or a bias
  Band,     ///< a collective: an event across all lanes
  Line,     ///< a conversion that sends nothing: f or g as the identity, a local slice
};

struct Row {
  RowKind kind = RowKind::Tensor;
  StepId step = -1;             ///< -1 for Heading, Divider and Input
  TensorId tensor = kNoTensor;  ///< what each lane draws
  TensorId matrix = kNoTensor;  ///< the weight a product uses, drawn small at its left
  TensorId vector = kNoTensor;  ///< the bias it adds
  Phase phase = Phase::Forward;
  std::string title;  ///< the equation's first clause, or the heading's word
  std::string note;   ///< what it is: "column-parallel"
  StepId from = -1;   ///< of an Input: the step outside the open part that wrote it; -1: fed before the run
};

std::vector<Row> rows_of(const Program& program);
/// The rows of one part of a whole model: its own steps, with what comes from other parts as inputs.
std::vector<Row> rows_of(const Program& program, const Sections& sections, int section);

/// Height at scale 1. `zoom` stretches rows that hold tensors; words and bands keep their size, and shrink
/// only where everything does.
float row_height(RowKind kind, float zoom);
inline constexpr float kRowGap = 6;
inline constexpr float kTensorRow = 56;

/// Where each row lies, in pixels from the top of the first.
struct Stack {
  std::vector<float> top, height;
  float total = 0;

  /// The row that holds `y`, or the one above it when it lies in a gap; 0 at the top, the last at the end.
  size_t at(float y) const;
};
Stack stack_rows(const std::vector<Row>& rows, float zoom, float scale);

/// The zoom at which all rows fit in `height` pixels, at most 1 and at least `least`.
float fitting_zoom(const std::vector<Row>& rows, float height, float scale, float least);

}  // namespace shardlens::ui::stage
