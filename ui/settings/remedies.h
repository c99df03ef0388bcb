// Finds the nearest settings that can run, for settings that cannot. The page shows them as buttons below the
// engine's message. The engine's own validation checks them, so no offered settings are refused.
#pragma once

#include <string>
#include <vector>

#include "engine/config/settings.h"

namespace shardlens::ui {

struct Remedy {
  std::string label;  ///< "T = 4", "15 heads"
  Settings settings;
};

/// True if the engine's validation accepts the settings.
bool is_possible(const Settings& settings);

/// Returns the smallest changes that make `wanted` valid, at most `most`, nearest first; none if it is valid
/// already.
std::vector<Remedy> remedies(const Settings& wanted, size_t most);

/// The first sentence of an error message, and the rest.
struct Message {
  std::string headline;
  std::string rest;
};
Message split_message(const std::string& message);

/// `model` with the name and title of the preset that has its sizes, or "custom".
Model named_by_its_sizes(Model model);
/// `split` with the name of the split that has its cuts, or "custom".
Split named_by_its_cuts(Split split);

}  // namespace shardlens::ui
