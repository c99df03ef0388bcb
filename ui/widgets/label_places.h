// Where the figures of a chart go, so that none covers another, a mark or a line as far as there is room:
// each point tries the places around it, and takes the one that costs least. Plain geometry, in pixels.
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

/// A figure of `size` that belongs to the point `at`; `prefers` is where it goes when nothing is in its way:
/// 1 above, -1 below, 0 beside.
struct LabelWish {
  ImVec2 at, size;
  int prefers = 1;
};

/// What is drawn already, and where a figure may be at all.
struct LabelRoom {
  Box bounds;
  std::vector<LineSegment> lines;
  std::vector<Box> taken;  ///< marks and other texts
};

/// The upper left corner of each, `gap` away from its point.
std::vector<ImVec2> place_labels(const std::vector<LabelWish>& wishes, const LabelRoom& room, float gap);

/// How much of the line lies in the box; 0 where they do not meet.
float length_inside(const LineSegment& line, const Box& box);

}  // namespace shardlens::ui
