// A button that runs a command of the table. It is enabled if the command is, and its tooltip shows the
// command's help and key.
#pragma once

#include <string>

#include "ui/commands/commands.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {

/// Returns "Next collective (Shift+→)" and the command's help, for a tooltip.
std::string explanation(const UiCommand& command);

/// Draws the button at the cursor. `item` is the button's name if it differs from the command's; `more` is
/// added to the tooltip.
void command_button(const Context& context, const char* command, const std::string& text,
                    ButtonLook look = ButtonLook::Plain, const char* item = nullptr,
                    const std::string& more = {});
/// Right-aligned at `right_top`; leaves the cursor where it was. Returns the button's width.
float command_button_at(const Context& context, const char* command, const std::string& text, ButtonLook look,
                        ImVec2 right_top);

}  // namespace shardlens::ui
