// A path that names a model on disk: its folder, such as a checkpoint, or a file of weights in it. It can be
// dropped on the window, typed under Weights in Setup, or chosen in a list.
#pragma once

#include <string>

#include "ui/context.h"

namespace shardlens::ui {

/// True if the path is the folder of a model, which has a config.json, or a file of weights.
bool names_a_model(const std::string& path);

/// Replaces model and weights in Setup by those that `path` names. Says why if that is not possible. Call it
/// only if names_a_model().
void take_model(const Context& context, const std::string& path);

}  // namespace shardlens::ui
