// Places the numbers of a chart so that, if there is room, none covers another number, a mark or a line. Each
// point tries the places around it and takes the one with the lowest cost. Plain geometry, in pixels.
#pragma once

#include <imgui.h>

#include <vector>

namespace shardlens::ui {

struct Box {
  ImVec2 min, max;
};
struct LineSegment {
  ImVec2 from, to;
};

/// A number of `size` pixels that belongs to the point `at`. `prefers` is its place if there is room: 1
/// above, -1 below, 0 beside.
struct LabelWish {
  ImVec2 at, size;
  int prefers = 1;
};

/// What is already drawn, and the area where numbers may be.
struct LabelRoom {
  Box bounds;
  std::vector<LineSegment> lines;
  std::vector<Box> taken;  ///< marks and other texts
};

/// Returns the upper left corner of each number, `gap` away from its point.
std::vector<ImVec2> place_labels(const std::vector<LabelWish>& wishes, const LabelRoom& room, float gap);

/// Returns the length of the line inside the box; 0 if they do not meet.
float length_inside(const LineSegment& line, const Box& box);

}  // namespace shardlens::ui
