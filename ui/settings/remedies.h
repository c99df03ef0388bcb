// The nearest settings that can be run, for settings that cannot: what Setup offers to click beside the
// engine's sentence. Found by asking the engine's own validation, so that nothing offered is refused in its
// turn.
#pragma once

#include <string>
#include <vector>

#include "engine/config/settings.h"

namespace shardlens::ui {

struct Remedy {
  std::string label;  ///< "T = 4", "15 heads"
  Settings settings;
};

/// The smallest changes that make `wanted` valid, at most `most`, nearest first; none when it is valid
/// already.
std::vector<Remedy> remedies(const Settings& wanted, size_t most);

/// The first sentence of an error message and what follows it.
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
