// Computes the horizontal layout of the Stage: one lane for each rank, or one for several equal ranks if
// there are too many; in a lane the ghost of the full tensor, with each rank's piece at its true place. Only
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

/// Ranks [first, last]. If there are several, they all have the same shapes.
struct Lane {
  int first = 0;
  int last = 0;
  float x = 0, width = 0;
  bool group() const { return last > first; }
};

/// Returns lanes over `width` pixels, `gap` apart. Each rank has its own lane if there are at most eight
/// ranks and each lane gets `least` pixels. Otherwise the first ranks have their own lanes, and the others
/// are grouped by equal shapes.
std::vector<Lane> lanes_of(const Program& program, float width, float gap, float least);

/// Returns the index of the lane that shows `rank`.
size_t lane_of(const std::vector<Lane>& lanes, int rank);

/// The largest matrix sides of a Program; ghosts are drawn relative to them.
struct Extent {
  int64_t rows = 1, cols = 1;
};
Extent largest_matrix(const Program& program);

/// Returns the ghost of a full tensor at the left of `room`, as high as the room. Its width grows with the
/// number of columns, but less than in proportion (power 0.4), so that a narrow tensor still has room for its
/// pieces.
Rect ghost_of(const Tensor& tensor, const Extent& largest, Rect room);

/// Returns the ghost of a weight, centred in `room`. Its sides grow with its shape less than in proportion
/// (power 0.5).
Rect weight_ghost_of(const Tensor& tensor, Rect room);

/// Returns where a part of a full matrix lies in `whole`, on whole pixels. It is never outside, and a part
/// that is not empty is at least `least` pixels wide and high, so that no rank's part vanishes.
Rect place_in(const Rect& whole, MatrixShape full, Range rows, Range cols, float least = 1);

/// One rectangle of a rank's piece: its place in the ghost, and the part of the rank's own matrix that it
/// shows.
struct Piece {
  Rect place;
  ImVec2 uv0, uv1;  ///< in fractions of the local matrix
  Range local_rows, local_cols;
};
/// Returns none if the rank holds nothing. `least` as in place_in().
std::vector<Piece> pieces_of(const Tensor& tensor, int ranks, int rank, Rect ghost, float least = 1);

}  // namespace shardlens::ui::stage
