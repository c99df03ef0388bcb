// Finds the weights in a model's folder.
#pragma once

#include <string>

namespace shardlens {

/// Returns the path of the weights in the folder that a `--model` value names: model.safetensors, or the
/// index of its shards. Empty for a preset, and for a folder with a config.json and no weights; then the
/// weights are seeded. If the folder holds weights only in a form that is not read here, throws a request
/// Error that names them and says how to convert them: random weights must not pass for trained ones. For the
/// same reason a checkpoint whose weights are missing has their path, which is then reported when it is
/// opened.
std::string weights_of_model(const std::string& name_or_folder);

}  // namespace shardlens
