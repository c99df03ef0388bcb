// All commands that a person can run by key or by name, in one table. The keyboard, the palette, the tooltips
// and the shortcut sheet all read it, so they always agree.
#pragma once

#include <imgui.h>

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ui/context.h"

namespace shardlens::ui {

enum class CommandGroup { Run, Walk, Train, Lesson, Replay, View, Settings, Glossary };
std::string title_of(CommandGroup group);

struct UiCommand {
  std::string id;                ///< "walk.next_collective": stable, for tests and lookups
  std::string title;             ///< its name in the palette
  std::string help;              ///< one sentence for tooltips and the sheet
  std::string other_words = {};  ///< that the palette finds it by, too
  CommandGroup group = CommandGroup::View;
  std::vector<ImGuiKeyChord> keys = {};  ///< any of them; the first is the one shown
  std::function<void(const Context&)> run = {};
  std::function<bool(const Context&)> enabled = {};  ///< empty: always
  /// Explains why the command is not enabled when its key is pressed; empty: no explanation.
  std::function<void(const Context&)> refuse = {};
  bool held = false;  ///< runs in every frame while its key is down

  bool is_enabled(const Context& context) const { return !enabled || enabled(context); }
};

/// The table, in the order of the shortcut sheet.
const std::vector<UiCommand>& commands();

/// Throws std::out_of_range for an id that is not in the table.
const UiCommand& find_command(std::string_view id);

/// Brings a tab to the front.
void show_tab(const Context& context, Tab tab);

/// Returns the message for an export that failed.
Said failed_export(const std::exception& error);

/// Returns the key as shown on screen: "Shift+→", "Ctrl+P", "?".
std::string key_text(ImGuiKeyChord key);

/// The key of this command, which must have one: "Ctrl+W".
std::string key_of(std::string_view id);

/// Returns "Next collective (Shift+→)", for a tooltip.
std::string title_with_key(const UiCommand& command);

/// Runs the commands of the keys pressed in this frame. Keys without Ctrl are ignored while text is edited.
/// While the palette or the sheet is open, only the commands that close them react.
void handle_keys(const Context& context);

/// Draws the list of all commands with a search box (Ctrl+P). Draws nothing while view.palette_open is false.
void draw_palette(const Context& context);

/// Draws all keys on one sheet (?). Draws nothing while view.sheet_open is false.
void draw_sheet(const Context& context);

}  // namespace shardlens::ui
