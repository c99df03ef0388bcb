// Delays that the user gives to ranks, to see which ranks wait for them. Setup, the Bar and the commands
// offer it.
#pragma once

#include <string>

#include "ui/context.h"

namespace shardlens::ui {

/// The rank that add_delay() delays: the one chosen in Setup, else the selected one. And the step before
/// which: the selected one, else the one before the first collective.
struct DelayChoice {
  int rank = 0;
  StepId step = 0;
  bool is_selected = false;  ///< the step
};
DelayChoice delay_choice(const Context& context, const Program& program);

bool can_add_delay(const Context& context);
/// Adds the delay to the wanted settings. It replaces one of the same rank before the same step.
void add_delay(const Context& context);

/// "rank 2, 20 ms, before attn.proj". If the others give the rank up first: "rank 2, never comes, before
/// attn.proj".
std::string delay_words(const Delay& delay, const Settings& settings);

Settings without_delays(Settings settings);

/// All delays as a clause: "rank 2 is 20 ms late", "rank 2 never comes", "3 ranks are late".
std::string delays_clause(const Settings& settings);
/// All delays as a phrase: "rank 2 late by 20 ms", "rank 2 lost", "3 ranks late", "every rank on time".
std::string delays_phrase(const Settings& settings);

}  // namespace shardlens::ui
