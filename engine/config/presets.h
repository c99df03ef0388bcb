// The models that a user can name: built-in presets (assets/models.json) and folders with a Hugging Face
// config.json. A preset states only what its form leaves open (forms.h); the rest (activation, norm placement,
// mask) follows from the form, so a new preset is one line.
#pragma once

#include <string>
#include <vector>

#include "engine/config/settings.h"

namespace shardlens {

/// The built-in models, in the file's order.
const std::vector<Model>& model_presets();
std::vector<std::string> model_names();

/// Returns a preset by name. Throws a request Error that names the nearest one and lists all.
Model model_preset(const std::string& name);

/// Returns the model for a `--model` value: a preset name, or a folder with a Hugging Face config.json of a
/// form of forms.h.
Model find_model(const std::string& name_or_folder);
/// The folder that a `--model` value names; empty if it is a preset. Of a preset and a folder of one name,
/// the preset is meant, and "./name" is the folder. A text with a slash, or the name of a folder, is a
/// folder.
std::string folder_of_model(const std::string& name_or_folder);
/// A sentence that says so, if both are there; otherwise empty.
std::string hidden_folder_remark(const std::string& name_or_folder);

/// The vocabulary padded to a multiple of 128 * T (paper, section 5): 50,257 becomes 51,200 at T = 8.
int64_t padded_vocab(const Model& model, int tp);

}  // namespace shardlens
