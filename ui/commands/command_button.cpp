// Draws buttons for commands of the table.
#include "ui/commands/command_button.h"

namespace shardlens::ui {

std::string explanation(const UiCommand& command) {
  return title_with_key(command) + "\n" + command.help;
}

void command_button(const Context& context, const char* command, const std::string& text, ButtonLook look,
                    const char* item, const std::string& more) {
  const UiCommand& known = find_command(command);
  const bool enabled = known.is_enabled(context);
  if (draw_button(context, item != nullptr ? item : command, text, look, enabled, explanation(known) + more))
    known.run(context);
}

float command_button_at(const Context& context, const char* command, const std::string& text, ButtonLook look,
                        ImVec2 right_top) {
  const float width = button_width(context, text);
  const ImVec2 cursor = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos({right_top.x - width, right_top.y});
  command_button(context, command, text, look);
  ImGui::SetCursorScreenPos(cursor);
  return width;
}

}  // namespace shardlens::ui
