// The parts of the command table that stand in a file of their own. For the commands' files alone.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ui/commands/commands.h"

namespace shardlens::ui {

/// Adds commands of one group to the table: `add(id, title, help, keys, run, enabled)`.
inline auto adder(std::vector<UiCommand>& table, CommandGroup group) {
  return [&table, group](std::string id, std::string title, std::string help, std::vector<ImGuiKeyChord> keys,
                         std::function<void(const Context&)> run,
                         std::function<bool(const Context&)> enabled = {}) {
    table.push_back({.id = std::move(id),
                     .title = std::move(title),
                     .help = std::move(help),
                     .group = group,
                     .keys = std::move(keys),
                     .run = std::move(run),
                     .enabled = std::move(enabled)});
  };
}

void add_scaling_commands(std::vector<UiCommand>& table);
void add_train_commands(std::vector<UiCommand>& table);
void add_break_commands(std::vector<UiCommand>& table);
void add_compare_commands(std::vector<UiCommand>& table);
void add_replay_commands(std::vector<UiCommand>& table);
/// What runs, trains or changes settings waits until no recording is open.
void hold_back_while_replaying(std::vector<UiCommand>& table);
void add_figure_commands(std::vector<UiCommand>& table);

}  // namespace shardlens::ui
