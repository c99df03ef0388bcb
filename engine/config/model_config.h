// A model's fields as Hugging Face's config.json, read and written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/config/settings.h"

namespace shardlens {

/// Returns the model of a folder with a Hugging Face config.json, of any form of forms.h. Throws a request
/// Error that names the file and the key, and what would work.
Model read_model_config(const std::string& folder);

/// Returns the text of config.json. Its model_type is the form's name; megatron-bert for a pre-LN BERT.
/// `end_of_text` is the token that ends a text, if the model's tokenizer has one. Throws a request Error for
/// a model that fits none of them.
std::string hugging_face_config(const Model& model, DType dtype, std::optional<int32_t> end_of_text = {});

}  // namespace shardlens
