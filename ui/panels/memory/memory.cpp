// The Memory tab. Its three pages show why a model must be cut at all (the memory wall), what each rank holds
// after the cut, planned and measured, and what the machine reports about its memory.
#include <array>
#include <string>

#include "ui/panels/memory/memory_pages.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/panels.h"
#include "ui/panels/parts.h"

namespace shardlens::ui {

void draw_memory(const Context& context) {
  const bool is_model = context.wanted().block == Block::Model;
  const std::array<std::string, 3> pages{"whole model", is_model ? "each rank" : "this layer",
                                         "this machine"};
  MemoryView& view = context.view.of<MemoryView>();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = at.x + ImGui::GetContentRegionAvail().x;
  const int taken = view.this_machine ? 2 : view.this_layer ? 1 : 0;
  const float choices = choice_row_width(context, pages);
  const int clicked = choice_row(context, "page", {right - choices, at.y}, pages, taken);
  if (clicked >= 0) {
    view.this_machine = clicked == 2;
    view.this_layer = clicked == 1;
  }
  if (view.this_machine) {
    draw_memory_machine(context);
  } else if (view.this_layer) {
    draw_memory_layer(context);
  } else {
    draw_memory_wall(context);
  }
}

}  // namespace shardlens::ui
