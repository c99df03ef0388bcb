// What the Break it tab shows.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/config/settings.h"

namespace shardlens::ui {

/// The parts of the Break it tab. A small window shows one at a time.
enum class BreakPage { Faults, Errors, Loss };

struct BreakView {
  std::optional<Settings> asked;  ///< the settings whose possible faults the engine was asked for
  BreakPage page = BreakPage::Faults;
  int64_t probe = 0;  ///< the training step whose errors are shown; 0: the first with an error
};

}  // namespace shardlens::ui
