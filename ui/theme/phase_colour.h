// The colour of a step by its phase, the same on the Stage, in the tracks and in the tables. The optimizer's
// phase has no colour of its own.
#pragma once

#include "engine/program/program.h"
#include "ui/theme/theme.h"

namespace shardlens::ui {

inline ImU32 phase_colour(const Theme& theme, Phase phase) {
  switch (phase) {
    case Phase::Forward:
      return theme.forward;
    case Phase::Backward:
      return theme.backward;
    case Phase::Update:
      break;
  }
  return theme.dim;
}

}  // namespace shardlens::ui
