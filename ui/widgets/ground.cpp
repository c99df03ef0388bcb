// Scissored clears as draw-list callbacks.
#include "ui/widgets/ground.h"

#include <algorithm>
#include <cmath>

#include "ui/platform/gl.h"

namespace shardlens::ui {
namespace {

struct Fill {
  ImVec2 min, max;
  ImU32 colour;
};

// The renderer has the scissor test on, and sets its rectangle anew for whatever it draws next.
void clear_part(const ImDrawList*, const ImDrawCmd* command) {
  const Fill& fill = *static_cast<const Fill*>(command->UserCallbackData);
  const ImDrawData* data = ImGui::GetDrawData();
  const auto x = [&](float at) {
    return static_cast<int>(std::lround((at - data->DisplayPos.x) * data->FramebufferScale.x));
  };
  const auto y = [&](float at) {
    return static_cast<int>(std::lround((at - data->DisplayPos.y) * data->FramebufferScale.y));
  };
  const int height = y(data->DisplayPos.y + data->DisplaySize.y);
  const int width_pixels = x(fill.max.x) - x(fill.min.x), height_pixels = y(fill.max.y) - y(fill.min.y);
  if (width_pixels <= 0 || height_pixels <= 0) return;
  glScissor(x(fill.min.x), height - y(fill.max.y), width_pixels, height_pixels);
  const ImVec4 colour = ImGui::ColorConvertU32ToFloat4(fill.colour);
  glClearColor(colour.x, colour.y, colour.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
}

}  // namespace

void fill_opaque(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour) {
  const ImVec2 clip_min = list->GetClipRectMin(), clip_max = list->GetClipRectMax();
  Fill fill{{std::max(min.x, clip_min.x), std::max(min.y, clip_min.y)},
            {std::min(max.x, clip_max.x), std::min(max.y, clip_max.y)},
            colour};
  if (fill.max.x <= fill.min.x || fill.max.y <= fill.min.y) return;
  list->AddCallback(clear_part, &fill, sizeof(fill));
}

}  // namespace shardlens::ui
