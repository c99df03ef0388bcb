// Writes a model's sizes as Hugging Face's config.json. read_hugging_face() of presets.cpp reads it back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/config/settings.h"

namespace shardlens {

/// Returns the text of config.json. Its model_type is gpt2, bert, or megatron-bert for a pre-LN BERT.
/// `end_of_text` is the token that ends a text, if the model's tokenizer has one. Throws a request Error for
/// a model that fits none of the three.
std::string hugging_face_config(const Model& model, DType dtype, std::optional<int32_t> end_of_text = {});

}  // namespace shardlens
