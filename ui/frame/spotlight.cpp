// Darkens everything outside a circle. Far from the circle the shade is made of squares that stay where they
// are, so that a frame draws only what the circle has left or entered.
#include "ui/frame/spotlight.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr float kRadius = 110;
constexpr float kSquare = 64;  ///< in pixels: two tiles of what is drawn anew
constexpr int kCorners = 96;   ///< of the circle
constexpr ImU32 kShade = IM_COL32(0, 0, 0, 150);

/// Where the ray from the centre in direction `d` leaves the rectangle.
ImVec2 edge_point(ImVec2 centre, ImVec2 d, ImVec2 min, ImVec2 max) {
  const float x = d.x > 0 ? (max.x - centre.x) / d.x : d.x < 0 ? (min.x - centre.x) / d.x : INFINITY;
  const float y = d.y > 0 ? (max.y - centre.y) / d.y : d.y < 0 ? (min.y - centre.y) / d.y : INFINITY;
  const float length = std::min(x, y);
  return {centre.x + d.x * length, centre.y + d.y * length};
}

}  // namespace

void draw_spotlight(const Context& c) {
  SpotlightView& spot = c.view.of<SpotlightView>();
  const ImVec2 centre = ImGui::GetIO().MousePos;
  const bool draws = spot.on && ImGui::IsMousePosValid(&centre);
  const bool left =
      ImGui::IsMouseClicked(ImGuiMouseButton_Left) || ImGui::IsKeyPressed(ImGuiKey_Escape, false);
  spot.on = spot.on && spot.stays && !left;  // its key switches it on again in the next frame
  if (!draws) return;
  ImDrawList* list = ImGui::GetForegroundDrawList();
  const ImVec2 size = ImGui::GetMainViewport()->Size;
  const float radius = c.px(kRadius);
  const auto down = [](float at) { return std::floor(at / kSquare) * kSquare; };
  const auto up = [](float at) { return std::ceil(at / kSquare) * kSquare; };
  const ImVec2 min{down(centre.x - radius), down(centre.y - radius)};
  const ImVec2 max{up(centre.x + radius), up(centre.y + radius)};
  std::vector<PlainRect> squares;
  for (float y = 0; y < size.y; y += kSquare)
    for (float x = 0; x < size.x; x += kSquare)
      if (x < min.x || x >= max.x || y < min.y || y >= max.y)
        squares.push_back({{x, y}, {x + kSquare, y + kSquare}, kShade});
  fill_rects(list, squares);
  // Between the circle and the square around it; the square's corners lie on four of the rays.
  std::vector<float> angles;
  for (int i = 0; i < kCorners; ++i)
    angles.push_back(2 * std::numbers::pi_v<float> * static_cast<float>(i) / kCorners);
  for (const ImVec2 corner : {min, ImVec2{max.x, min.y}, max, ImVec2{min.x, max.y}}) {
    const float angle = std::atan2(corner.y - centre.y, corner.x - centre.x);
    angles.push_back(angle < 0 ? angle + 2 * std::numbers::pi_v<float> : angle);
  }
  std::sort(angles.begin(), angles.end());
  const ImDrawFlags usual =
      std::exchange(list->Flags, list->Flags & ~ImDrawFlags_AAFill);  // no seams between triangles
  for (size_t i = 0; i < angles.size(); ++i) {
    const float a = angles[i], b = angles[(i + 1) % angles.size()];
    const ImVec2 of_a{std::cos(a), std::sin(a)}, of_b{std::cos(b), std::sin(b)};
    list->AddQuadFilled({centre.x + of_a.x * radius, centre.y + of_a.y * radius},
                        edge_point(centre, of_a, min, max), edge_point(centre, of_b, min, max),
                        {centre.x + of_b.x * radius, centre.y + of_b.y * radius}, kShade);
  }
  list->Flags = usual;
  list->AddCircle(centre, radius, c.theme.text, kCorners, std::max(2.0f, c.px(2)));
}

}  // namespace shardlens::ui
