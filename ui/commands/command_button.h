// A button that runs a command of the table: enabled as the command is, explained by its own words and key.
#pragma once

#include <string>

#include "ui/commands/commands.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {

/// "Next collective (Shift+→)" and what it does, for a tooltip.
std::string explanation(const UiCommand& command);

/// At the cursor. `item` is the button's own name, where that is not the command's; `more` ends its tooltip.
void command_button(const Context& context, const char* command, const std::string& text,
                    ButtonLook look = ButtonLook::Plain, const char* item = nullptr,
                    const std::string& more = {});
/// Right-aligned at `right_top`; leaves the cursor where it was. Returns the button's width.
float command_button_at(const Context& context, const char* command, const std::string& text, ButtonLook look,
                        ImVec2 right_top);

}  // namespace shardlens::ui
