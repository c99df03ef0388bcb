// Where labels are placed next to points, marks and lines.
#include "ui/widgets/label_places.h"

#include <gtest/gtest.h>

namespace shardlens::ui {
namespace label_places_test {

constexpr ImVec2 kSize{40, 12};
constexpr float kGap = 8;

LabelRoom empty_room() {
  return {{{0, 0}, {400, 200}}, {}, {}};
}
Box box_at(ImVec2 corner) {
  return {corner, {corner.x + kSize.x, corner.y + kSize.y}};
}
bool touch(const Box& a, const Box& b) {
  return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y;
}

TEST(LabelPlaces, WhereNothingIsInTheWayEachHasThePlaceItPrefers) {
  const std::vector<ImVec2> at = place_labels(
      {{{100, 100}, kSize, 1}, {{200, 100}, kSize, -1}, {{300, 100}, kSize, 0}}, empty_room(), kGap);
  EXPECT_EQ(at[0].x, 80);
  EXPECT_EQ(at[0].y, 80);
  EXPECT_EQ(at[1].x, 180);
  EXPECT_EQ(at[1].y, 108);
  EXPECT_EQ(at[2].x, 308);
  EXPECT_EQ(at[2].y, 94);
}

TEST(LabelPlaces, FiguresAtOnePlaceCoverNeitherEachOtherNorTheMarks) {
  LabelRoom room = empty_room();
  std::vector<LabelWish> wishes;
  for (const float y : {100.f, 104.f, 108.f}) {
    wishes.push_back({{200, y}, kSize, 1});
    room.taken.push_back({{195, y - 5}, {205, y + 5}});
  }
  const std::vector<ImVec2> at = place_labels(wishes, room, kGap);
  for (size_t i = 0; i < at.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(touch(box_at(at[i]), box_at(at[j]))) << i << " and " << j;
    for (const Box& mark : room.taken) EXPECT_FALSE(touch(box_at(at[i]), mark)) << i;
  }
}

TEST(LabelPlaces, AFigureLeavesALineThatCrossesItsPlace) {
  LabelRoom room = empty_room();
  room.lines = {{{100, 120}, {300, 60}}, {{0, 100}, {400, 100}}};  // one goes through the place above
  const Box box = box_at(place_labels({{{200, 100}, kSize, 1}}, room, kGap)[0]);
  for (const LineSegment& line : room.lines) EXPECT_EQ(length_inside(line, box), 0);
}

TEST(LabelPlaces, AtTheBorderAFigureMovesAsideAndStaysBelow) {
  LabelRoom room = empty_room();
  room.lines = {{{200, 100}, {395, 100}}};  // a curve comes from the left
  const ImVec2 corner = place_labels({{{395, 100}, kSize, -1}}, room, kGap)[0];
  EXPECT_EQ(corner.x, 360);
  EXPECT_EQ(corner.y, 108);
}

TEST(LabelPlaces, NoFigureLeavesTheChart) {
  const LabelRoom room = empty_room();
  for (const ImVec2 point : {ImVec2{0, 0}, ImVec2{400, 0}, ImVec2{0, 200}, ImVec2{400, 200}}) {
    const Box box = box_at(place_labels({{point, kSize, 1}}, room, kGap)[0]);
    EXPECT_GE(box.min.x, 0);
    EXPECT_GE(box.min.y, 0);
    EXPECT_LE(box.max.x, 400);
    EXPECT_LE(box.max.y, 200);
  }
}

TEST(LabelPlaces, TheLengthOfALineInABoxIsItsOwnPart) {
  const Box box{{10, 10}, {30, 20}};
  EXPECT_FLOAT_EQ(length_inside({{0, 15}, {100, 15}}, box), 20);
  EXPECT_FLOAT_EQ(length_inside({{20, 15}, {100, 15}}, box), 10);
  EXPECT_FLOAT_EQ(length_inside({{0, 0}, {100, 0}}, box), 0);
  EXPECT_FLOAT_EQ(length_inside({{12, 0}, {12, 100}}, box), 10);
}

}  // namespace label_places_test
}  // namespace shardlens::ui
