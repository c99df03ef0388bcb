// Computes lanes, ghosts and pieces.
#include "ui/stage/lanes.h"

#include <algorithm>
#include <cmath>

#include "ui/widgets/within.h"

namespace shardlens::ui::stage {
namespace {

constexpr int kMostSingleLanes = 8;
constexpr int kSinglesBesideGroups = 4;  // enough single lanes to see the pattern

// Returns the shape of every tensor on one rank.
std::vector<Shape> shapes_of(const Program& program, int rank) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : program.tensors) shapes.push_back(local_shape(tensor, program.tp(), rank));
  return shapes;
}

// Moves the edges to whole pixels, so that lines are sharp and neighbours share edges.
Rect snapped(Rect rect) {
  return {{std::round(rect.min.x), std::round(rect.min.y)}, {std::round(rect.max.x), std::round(rect.max.y)}};
}

float share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<float>(static_cast<double>(part) / static_cast<double>(whole)) : 0.0f;
}

/// Where a part of `extent` lies between two edges that are on whole pixels.
struct Ends {
  float begin, end;
};
Ends ends_of(float low, float high, Range part, int64_t extent, float least) {
  const auto edge = [&](int64_t at) { return std::round(low + (high - low) * share(at, extent)); };
  const float begin = edge(part.begin), end = edge(part.end);
  if (part.size() <= 0 || end - begin >= least) return {begin, end};
  const float from = within(std::round((begin + end - least) / 2), low, high - least);
  return {from, std::min(from + least, high)};
}

void place(std::vector<Lane>& lanes, float width, float gap) {
  const float count = static_cast<float>(lanes.size());
  const float each = (width - gap * (count - 1)) / count;
  for (size_t i = 0; i < lanes.size(); ++i) {
    lanes[i].x = static_cast<float>(i) * (each + gap);
    lanes[i].width = each;
  }
}

}  // namespace

std::vector<Lane> lanes_of(const Program& program, float width, float gap, float least) {
  const int ranks = program.tp();
  const int fitting = std::max(1, static_cast<int>((width + gap) / (least + gap)));
  std::vector<Lane> lanes;
  if (ranks <= std::min(fitting, kMostSingleLanes)) {
    for (int rank = 0; rank < ranks; ++rank) lanes.push_back({rank, rank});
  } else {
    const int singles = std::clamp(fitting - 1, 0, kSinglesBesideGroups);
    std::vector<Shape> previous;
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank < singles) {
        lanes.push_back({rank, rank});
        continue;
      }
      std::vector<Shape> shapes = shapes_of(program, rank);
      if (shapes == previous) {
        lanes.back().last = rank;
      } else {
        lanes.push_back({rank, rank});
      }
      previous = std::move(shapes);
    }
  }
  place(lanes, width, gap);
  return lanes;
}

size_t lane_of(const std::vector<Lane>& lanes, int rank) {
  for (size_t i = 0; i < lanes.size(); ++i) {
    if (rank >= lanes[i].first && rank <= lanes[i].last) return i;
  }
  return 0;
}

Extent largest_matrix(const Program& program) {
  Extent largest;
  for (const Tensor& tensor : program.tensors) {
    // Attention's probabilities and scratch are never drawn, and would make the others look tiny.
    if (tensor.kind == MemoryKind::Workspace) continue;
    for (const Step& step : program.steps) {
      if (step.outputs.empty() || step.outputs[0] != tensor.id) continue;
      const MatrixShape shape = matrix_shape(tensor);
      largest.rows = std::max(largest.rows, shape.rows);
      largest.cols = std::max(largest.cols, shape.cols);
      break;
    }
  }
  return largest;
}

Rect ghost_of(const Tensor& tensor, const Extent& largest, Rect room) {
  const MatrixShape shape = matrix_shape(tensor);
  const double share =
      static_cast<double>(shape.cols) / static_cast<double>(std::max(largest.cols, shape.cols));
  const float width = std::max(4.0f, room.width() * static_cast<float>(std::pow(share, 0.4)));
  Rect ghost{room.min, {room.min.x + std::min(width, room.width()), room.max.y}};
  if (shape.rows == 1) {  // a vector is a strip, not a block
    const float height = std::min(room.height(), std::max(4.0f, room.height() * 0.3f));
    ghost.min.y = room.min.y + (room.height() - height) / 2;
    ghost.max.y = ghost.min.y + height;
  }
  return snapped(ghost);
}

Rect weight_ghost_of(const Tensor& tensor, Rect room) {
  const MatrixShape shape = matrix_shape(tensor);
  const float aspect = static_cast<float>(
      std::sqrt(static_cast<double>(shape.rows) / static_cast<double>(std::max<int64_t>(1, shape.cols))));
  float width = room.width(), height = width * aspect;
  if (height > room.height()) {
    height = room.height();
    width = height / aspect;
  }
  if (shape.rows == 1) height = std::min(room.height(), std::max(3.0f, room.width() * 0.16f));
  height = std::max(height, 3.0f);
  width = std::max(width, 3.0f);
  const ImVec2 middle((room.min.x + room.max.x) / 2, (room.min.y + room.max.y) / 2);
  return snapped(
      {{middle.x - width / 2, middle.y - height / 2}, {middle.x + width / 2, middle.y + height / 2}});
}

Rect place_in(const Rect& whole, MatrixShape full, Range rows, Range cols, float least) {
  const Rect grid = snapped(whole);
  const Ends across = ends_of(grid.min.x, grid.max.x, cols, full.cols, least),
             down = ends_of(grid.min.y, grid.max.y, rows, full.rows, least);
  return {{across.begin, down.begin}, {across.end, down.end}};
}

std::vector<Piece> pieces_of(const Tensor& tensor, int ranks, int rank, Rect ghost, float least) {
  const MatrixShape full = matrix_shape(tensor), local = local_matrix_shape(tensor, ranks, rank);
  std::vector<Piece> pieces;
  for (const Placement& placement : placements(tensor, ranks, rank)) {
    if (placement.rows.size() <= 0 || placement.cols.size() <= 0) continue;
    Piece piece;
    piece.place = place_in(ghost, full, placement.rows, placement.cols, least);
    piece.uv0 = {share(placement.local_cols.begin, local.cols),
                 share(placement.local_rows.begin, local.rows)};
    piece.uv1 = {share(placement.local_cols.end, local.cols), share(placement.local_rows.end, local.rows)};
    piece.local_rows = placement.local_rows;
    piece.local_cols = placement.local_cols;
    pieces.push_back(piece);
  }
  return pieces;
}

}  // namespace shardlens::ui::stage
