// Where things lie from left to right: one lane a rank, or one for several equal ranks when there are too
// many, and within a lane the ghost of the full tensor with every rank's piece at its true place. Plain
// arithmetic, no drawing.
#pragma once

#include <imgui.h>

#include <vector>

#include "engine/program/program.h"

namespace shardlens::ui::stage {

struct Rect {
  ImVec2 min, max;
  float width() const { return max.x - min.x; }
  float height() const { return max.y - min.y; }
  bool contains(ImVec2 p) const { return p.x >= min.x && p.x < max.x && p.y >= min.y && p.y < max.y; }
};

/// Ranks [first, last], which all have the same shapes when there are several.
struct Lane {
  int first = 0;
  int last = 0;
  float x = 0, width = 0;
  bool group() const { return last > first; }
};

/// Lanes over `width` pixels, `gap` apart. Every rank has its own while that leaves `least` pixels each, and
/// there are at most eight; otherwise the first ranks stand alone and those that follow are grouped by equal
/// shapes.
std::vector<Lane> lanes_of(const Program& program, float width, float gap, float least);

/// The lane that shows `rank`.
size_t lane_of(const std::vector<Lane>& lanes, int rank);

/// Largest matrices of a Program: what ghosts are measured against.
struct Extent {
  int64_t rows = 1, cols = 1;
};
Extent largest_matrix(const Program& program);

/// The ghost of a full tensor in `room`, at its left, as high as the room. Widths follow the number of
/// columns, but less than in proportion (power 0.4), so that a narrow tensor keeps room for its pieces beside
/// a wide one.
Rect ghost_of(const Tensor& tensor, const Extent& largest, Rect room);

/// The ghost of a weight in `room`: its sides follow its shape less than in proportion (power 0.5), centred.
Rect weight_ghost_of(const Tensor& tensor, Rect room);

/// One rectangle of a rank's piece: where it lies in the ghost, and which part of the rank's own matrix it
/// shows.
struct Piece {
  Rect place;
  ImVec2 uv0, uv1;  ///< in fractions of the local matrix
  Range local_rows, local_cols;
};
std::vector<Piece> pieces_of(const Tensor& tensor, int ranks, int rank, Rect ghost);

}  // namespace shardlens::ui::stage
