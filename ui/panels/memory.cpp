// The Memory tab: the memory wall of the whole model, and what this layer holds on each rank. Two pages of
// one idea: first why a model must be cut at all, then what the cut leaves on a rank, planned and measured.
#include <array>
#include <string>

#include "ui/panels/memory_pages.h"
#include "ui/panels/parts.h"

namespace shardlens::ui {

void draw_memory(const Context& context) {
  const std::array<std::string, 2> pages{"whole model", "this layer"};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = at.x + ImGui::GetContentRegionAvail().x;
  const int taken = context.view.memory.this_layer ? 1 : 0;
  const int clicked =
      choice_row(context, "page", {right - choice_row_width(context, pages), at.y}, pages, taken);
  if (clicked >= 0) context.view.memory.this_layer = clicked == 1;
  if (context.view.memory.this_layer) {
    draw_memory_layer(context);
  } else {
    draw_memory_wall(context);
  }
}

}  // namespace shardlens::ui
