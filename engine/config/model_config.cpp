// Writes config.json.
#include "engine/config/model_config.h"

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/config/forms.h"
#include "engine/io/json_text.h"

namespace shardlens {
namespace {

using nlohmann::ordered_json;

constexpr double kInitStddev = 0.02;

const char* torch_type(DType dtype) {
  switch (dtype) {
    case DType::Fp64:
      return "float64";
    case DType::Fp16:
      return "float16";
    case DType::Bf16:
      return "bfloat16";
    case DType::Fp32:
    case DType::Int32:
      break;
  }
  return "float32";
}

ordered_json gpt2(const Model& model) {
  return {{"activation_function", model.activation == Activation::GeluErf ? "gelu" : "gelu_new"},
          {"vocab_size", model.vocab},
          {"n_positions", model.positions},
          {"n_ctx", model.positions},
          {"n_embd", model.hidden},
          {"n_layer", model.layers},
          {"n_head", model.heads},
          {"n_inner", model.ffn},
          {"layer_norm_epsilon", model.norm_epsilon}};
}

ordered_json bert(const Model& model) {
  // Without this key, loaders assume 0. So "no padding word" is written as null.
  const ordered_json pad = model.pad_token >= 0 ? ordered_json(model.pad_token) : ordered_json(nullptr);
  return {{"hidden_act", model.activation == Activation::GeluErf ? "gelu" : "gelu_new"},
          {"vocab_size", model.vocab},
          {"max_position_embeddings", model.positions},
          {"hidden_size", model.hidden},
          {"num_hidden_layers", model.layers},
          {"num_attention_heads", model.heads},
          {"intermediate_size", model.ffn},
          {"pad_token_id", pad},
          {"type_vocab_size", 2},
          {"position_embedding_type", "absolute"},
          {"layer_norm_eps", model.norm_epsilon}};
}

}  // namespace

std::string hugging_face_config(const Model& model, DType dtype, std::optional<int32_t> end_of_text) {
  const bool gpt = model.objective == Objective::NextToken;
  if (gpt && (model.norm == NormPlacement::Post || !model.causal)) {
    throw request_error(
        "no config.json that other programs read can describe a post-LN GPT; train it without --checkpoint, "
        "or choose pre-LN");
  }
  const ModelForm& form = form_of(model);
  ordered_json json = {{"architectures", {form.class_name}}, {"model_type", form.name}};
  json.update(gpt ? gpt2(model) : bert(model));
  if (model.is_grouped()) json["num_key_value_heads"] = model.key_heads();
  if (gpt) {
    // Without this key, loaders assume GPT-2's own 50,256.
    const ordered_json id = end_of_text ? ordered_json(*end_of_text) : ordered_json(nullptr);
    json["bos_token_id"] = json["eos_token_id"] = id;
  }
  json["initializer_range"] = kInitStddev;
  json["tie_word_embeddings"] = model.tied;
  json["torch_dtype"] = torch_type(dtype);
  return json_text(json, 2) + "\n";
}

}  // namespace shardlens
