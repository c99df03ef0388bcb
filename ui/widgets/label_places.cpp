// Makes the candidate places and computes their costs: see label_places.h.
#include "ui/widgets/label_places.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

constexpr float kOutside = 100, kOnText = 20, kOnLine = 3;  // a pixel's cost: per area, and per length
constexpr float kFarther = 2;                               // extra cost for each less natural place
constexpr int kRounds = 3;  // so that each label sees the places of the others

float area(const Box& box) {
  return std::max(0.0f, box.max.x - box.min.x) * std::max(0.0f, box.max.y - box.min.y);
}

Box common(const Box& a, const Box& b) {
  return {{std::max(a.min.x, b.min.x), std::max(a.min.y, b.min.y)},
          {std::min(a.max.x, b.max.x), std::min(a.max.y, b.max.y)}};
}

Box box_at(ImVec2 min, ImVec2 size) {
  return {min, {min.x + size.x, min.y + size.y}};
}

/// Returns the corners of the places around a point, the most natural first. Above and below the point a
/// label moves aside to stay within `bounds`.
std::array<ImVec2, 12> places(const LabelWish& wish, const Box& bounds, float gap) {
  const ImVec2 at = wish.at, size = wish.size;
  const float middle = within(at.x - size.x / 2, bounds.min.x, bounds.max.x - size.x),
              left = at.x - size.x - gap, right = at.x + gap;
  const float above = at.y - size.y - gap, below = at.y + gap, beside = at.y - size.y / 2;
  const float near_above = at.y - size.y - gap / 3, near_below = at.y + gap / 3;
  const ImVec2 up{middle, above}, down{middle, below}, east{right, beside}, west{left, beside};
  const ImVec2 north_east{right, near_above}, north_west{left, near_above}, south_east{right, near_below},
      south_west{left, near_below};
  const ImVec2 far_up{middle, above - size.y}, far_down{middle, below + size.y},
      far_east{right, below + size.y / 2}, far_west{left, above - size.y / 2};
  if (wish.prefers > 0)
    return {up,         north_west, north_east, down,     east,     west,
            south_east, south_west, far_up,     far_down, far_west, far_east};
  if (wish.prefers < 0)
    return {down,       south_east, south_west, up,     east,     west,
            north_west, north_east, far_down,   far_up, far_east, far_west};
  return {east,       south_east, north_east, west,     down,     up,
          south_west, north_west, far_east,   far_west, far_down, far_up};
}

float cost(const Box& box, const LabelRoom& room, const std::vector<Box>& others, size_t self) {
  float cost = kOutside * (area(box) - area(common(box, room.bounds)));
  for (const Box& taken : room.taken) cost += kOnText * area(common(box, taken));
  for (size_t i = 0; i < others.size(); ++i)
    if (i != self) cost += kOnText * area(common(box, others[i]));
  for (const LineSegment& line : room.lines) cost += kOnLine * length_inside(line, box);
  return cost;
}

}  // namespace

float length_inside(const LineSegment& line, const Box& box) {
  const float dx = line.to.x - line.from.x, dy = line.to.y - line.from.y;
  float enters = 0, leaves = 1;
  const auto cut = [&](float along, float room) {  // keeps the part of the line where along * t <= room
    if (along == 0) {
      if (room < 0) leaves = -1;
    } else if (along > 0) {
      leaves = std::min(leaves, room / along);
    } else {
      enters = std::max(enters, room / along);
    }
  };
  cut(-dx, line.from.x - box.min.x);
  cut(dx, box.max.x - line.from.x);
  cut(-dy, line.from.y - box.min.y);
  cut(dy, box.max.y - line.from.y);
  return enters < leaves ? (leaves - enters) * std::hypot(dx, dy) : 0;
}

std::vector<ImVec2> place_labels(const std::vector<LabelWish>& wishes, const LabelRoom& room, float gap) {
  std::vector<Box> placed;
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < wishes.size(); ++i) {
      float least = INFINITY, farther = 0;
      Box best;
      for (const ImVec2& corner : places(wishes[i], room.bounds, gap)) {
        const Box box = box_at(corner, wishes[i].size);
        const float here = cost(box, room, placed, i) + farther;
        if (here < least) {
          least = here;
          best = box;
        }
        farther += kFarther;
      }
      if (round == 0)
        placed.push_back(best);
      else
        placed[i] = best;
    }
  }
  std::vector<ImVec2> corners;
  for (const Box& box : placed) corners.push_back(box.min);
  return corners;
}

}  // namespace shardlens::ui
