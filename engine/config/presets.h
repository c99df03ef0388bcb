// The models that a user can name: built-in presets (assets/models.json) and folders with a Hugging Face
// config.json. A preset states only what its architecture leaves open; the rest (GeLU form, norm placement,
// mask) follows from the architecture, so a new preset is one line.
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
/// `gpt2` or `bert` model.
Model find_model(const std::string& name_or_folder);
/// The folder that a `--model` value names; empty if it is a preset. Of a preset and a folder of one name,
/// the preset is meant, and "./name" is the folder. A text with a slash, or the name of a folder, is a
/// folder.
std::string folder_of_model(const std::string& name_or_folder);
/// A sentence that says so, if both are there; otherwise empty.
std::string hidden_folder_remark(const std::string& name_or_folder);

/// Parameters by place. Weights and biases are counted exactly; the output embedding is tied to the input
/// embedding and counted once. For BERT, `heads` holds the pooler, the masked-LM head and the two-way
/// sentence head.
struct ParameterCount {
  int64_t embedding = 0;    ///< vocab * hidden, without padding
  int64_t positions = 0;    ///< positions * hidden
  int64_t token_types = 0;  ///< BERT: 2 * hidden
  int64_t layers = 0;       ///< all transformer layers
  int64_t norms_outside =
      0;              ///< GPT: the final norm. BERT: the embedding's norm (post) or the final one (pre)
  int64_t heads = 0;  ///< BERT only
  int64_t total() const { return embedding + positions + token_types + layers + norms_outside + heads; }
};
ParameterCount count_parameters(const Model& model);

/// count_parameters(model).total(): 124,439,808 for gpt2.
int64_t parameter_count(const Model& model);

/// One layer: 4h² + 2hf weights, 5h + f biases and two norms of 2h each. With grouped queries, k and v
/// columns count for the key heads only.
int64_t layer_parameter_count(const Model& model);

/// The vocabulary padded to a multiple of 128 * T (paper, section 5): 50,257 becomes 51,200 at T = 8.
int64_t padded_vocab(const Model& model, int tp);

}  // namespace shardlens
