// The parts of the command table that are in their own files. Only for the files of the commands.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ui/commands/commands.h"

namespace shardlens::ui {

/// Returns a function that adds commands of one group to the table: `add(id, title, help, keys, run,
/// enabled)`.
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

/// One command for each choice of T, part, norm, split and number type: what Setup and the Bar offer.
void add_setup_commands(std::vector<UiCommand>& table);
void add_scaling_commands(std::vector<UiCommand>& table);
void add_train_commands(std::vector<UiCommand>& table);
void add_break_commands(std::vector<UiCommand>& table);
void add_compare_commands(std::vector<UiCommand>& table);
void add_speed_commands(std::vector<UiCommand>& table);
void add_lesson_commands(std::vector<UiCommand>& table);
void add_replay_commands(std::vector<UiCommand>& table);
/// Disables the commands that run, train or change settings while a recording is open.
void hold_back_while_replaying(std::vector<UiCommand>& table);
void add_figure_commands(std::vector<UiCommand>& table);
/// One command for each word of the glossary.
void add_glossary_commands(std::vector<UiCommand>& table);
void add_collective_commands(std::vector<UiCommand>& table);

}  // namespace shardlens::ui
