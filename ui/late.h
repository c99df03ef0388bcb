// Making ranks late on purpose, for the panel, the Bar and the commands that offer it.
#pragma once

#include <string>

#include "ui/context.h"

namespace shardlens::ui {

/// Who would be made late by make_late(), and before what: the rank chosen in Setup, else the selected one,
/// and the selected step, else the one before the first meeting.
struct LateChoice {
  int rank = 0;
  StepId step = 0;
};
LateChoice late_choice(const Context& context, const Program& program);

bool can_make_late(const Context& context);
/// Adds the choice to what is wanted; a delay of the same rank before the same step is replaced.
void make_late(const Context& context);

/// "rank 2, 20 ms, before attn.proj", or of one that is given up first "rank 2, never comes, before
/// attn.proj".
std::string delay_words(const Delay& delay, const Settings& settings);

Settings without_delays(Settings settings);

/// "rank 2 is 20 ms late", "rank 2 never comes", and of several "3 ranks are late".
std::string late_words(const Settings& settings);
/// The same within a sentence: "rank 2 late by 20 ms", "rank 2 lost", "3 ranks late", "every rank on time".
std::string late_noun(const Settings& settings);

}  // namespace shardlens::ui
