// A factor or the result of a product as a picture, with every rank's part at its place.
#pragma once

#include <string>
#include <vector>

#include "ui/product/page.h"
#include "ui/widgets/heatmap.h"
#include "ui/widgets/whole_picture.h"

namespace shardlens::ui {

/// A factor or the result as the equation has it.
struct DrawnMatrix {
  const Tensor* tensor = nullptr;
  bool turned = false;
  RankSamples samples;
  ColourScale scale;

  MatrixShape shape() const {
    const MatrixShape full = matrix_shape(*tensor);
    return turned ? MatrixShape{full.cols, full.rows} : full;
  }
  std::string title() const { return tensor->symbol + (turned ? "\u1D40" : ""); }
};

/// With the samples of the shown run, as far as it has come.
DrawnMatrix operand_of(const Context& context, const Program& program, TensorId id, bool turned);

/// Draws what one rank holds, at its place in `whole`.
void draw_rank(const OpenedPage& page, const DrawnMatrix& operand, int ranks, int rank, const Rect& whole);

/// The letters of the equal parts that stand beside each other in its columns: Q, K and V in one matrix.
/// Empty: it is one part, or turned.
std::vector<std::string> parts_in_columns(const DrawnMatrix& operand);
/// Draws a bracket with its letter above every such part.
void draw_parts_in_columns(const OpenedPage& page, const DrawnMatrix& operand, const Rect& whole);

/// Draws its symbol, shape and layout below it, in the width of `column`.
void draw_caption(const OpenedPage& page, const DrawnMatrix& operand, int ranks, const Rect& column, float y);

}  // namespace shardlens::ui
