// The parts of the command table that stand in a file of their own. For the commands' files alone.
#pragma once

#include <vector>

#include "ui/commands/commands.h"

namespace shardlens::ui {

/// Brings a tab to the front.
void show_tab(const Context& context, Tab tab);

void add_scaling_commands(std::vector<UiCommand>& table);
void add_train_commands(std::vector<UiCommand>& table);
void add_break_commands(std::vector<UiCommand>& table);
void add_compare_commands(std::vector<UiCommand>& table);
void add_replay_commands(std::vector<UiCommand>& table);
/// What runs, trains or changes settings waits until no recording is open.
void hold_back_while_replaying(std::vector<UiCommand>& table);
void add_figure_commands(std::vector<UiCommand>& table);

}  // namespace shardlens::ui
