// A model's sizes as Hugging Face's config.json, which read_hugging_face() of presets.h reads back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/config/settings.h"

namespace shardlens {

/// The text of config.json: model_type gpt2, bert, or megatron-bert for a pre-LN BERT; `end_of_text` is the
/// token that ends a text, if the model's tokenizer has one. Throws a request Error for a model that none of
/// the three is.
std::string hugging_face_config(const Model& model, DType dtype, std::optional<int32_t> end_of_text = {});

}  // namespace shardlens
