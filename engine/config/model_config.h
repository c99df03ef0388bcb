// A model's sizes as Hugging Face's config.json, which read_hugging_face() of presets.h reads back.
#pragma once

#include <string>

#include "engine/config/settings.h"

namespace shardlens {

/// The text of config.json: model_type gpt2, bert, or megatron-bert for a pre-LN BERT. Throws a request Error
/// for a model that none of the three is.
std::string hugging_face_config(const Model& model, DType dtype);

}  // namespace shardlens
