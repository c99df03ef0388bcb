// Reads model presets and Hugging Face configurations.
#include "engine/config/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/config/assets.h"
#include "engine/config/validate.h"
#include "engine/io/hidden_path.h"
#include "engine/io/json.h"
#include "engine/io/json_text.h"

namespace shardlens {
namespace {

// The defaults of an architecture, for what a preset leaves open: GPT-2 is pre-LN, causal, tanh GeLU; BERT is
// the opposite in each.
Model architecture_defaults(Architecture architecture) {
  const bool gpt = architecture == Architecture::Gpt;
  Model model;
  model.architecture = architecture;
  model.norm = gpt ? NormPlacement::Pre : NormPlacement::Post;
  model.causal = gpt;
  model.gelu = gpt ? GeluForm::Tanh : GeluForm::Erf;
  model.norm_epsilon = gpt ? 1e-5 : 1e-12;
  return model;
}

Model read_preset(const nlohmann::json& json) {
  ObjectReader reader(json, "models.json");
  Model model = architecture_defaults(parse_architecture(reader.string("architecture")));
  model.name = reader.string("name");
  model.title = reader.string("title");
  model.layers = reader.integer("layers");
  model.hidden = reader.integer("hidden");
  model.heads = reader.integer("heads");
  model.kv_heads = reader.integer_or("kv_heads", 0);
  model.ffn = reader.integer_or("ffn", 4 * model.hidden);
  model.vocab = reader.integer("vocab");
  model.positions = reader.integer("positions");
  if (reader.has("norm")) model.norm = parse_norm_placement(reader.string("norm"));
  reader.finish();
  return model;
}

std::vector<Model> read_model_presets() {
  const nlohmann::json presets = parse_json(std::string(asset("models.json")), "models.json");
  std::vector<Model> models;
  for (const nlohmann::json& json : presets) models.push_back(read_preset(json));
  return models;
}

// Converts Hugging Face's name of the activation. Both families of models use GeLU only.
GeluForm gelu_form(const std::string& activation, const std::string& where) {
  if (activation == "gelu") return GeluForm::Erf;
  if (activation == "gelu_new" || activation == "gelu_pytorch_tanh" || activation == "gelu_fast") {
    return GeluForm::Tanh;
  }
  throw request_error(
      where + ": the activation \"" + shown(activation) +
      "\" is not supported; known: gelu (erf), gelu_new, gelu_pytorch_tanh, gelu_fast (tanh)");
}

// Refuses a config.json with keys, other than sizes, that make the model another function than the one
// computed here. It ignores keys that matter only to training (dropout, the first weights) and keys that
// change no number.
void refuse_other_functions(const nlohmann::json& config, bool gpt, const std::string& where) {
  using nlohmann::json;
  json known = {{"add_cross_attention", false}, {"pruned_heads", json::object()}};
  known.update(
      gpt ? json{{"scale_attn_weights", true}, {"scale_attn_by_inverse_layer_idx", false}}
          : json{{"position_embedding_type", "absolute"}, {"is_decoder", false}, {"type_vocab_size", 2}});
  for (const auto& [key, value] : known.items()) {
    const auto found = config.find(key);
    if (found == config.end() || found->is_null() || *found == value) continue;
    throw request_error(where + ": \"" + key + "\": " + shown(json_text(*found)) +
                        " is not supported; known: " + json_text(value));
  }
}

// A size of GPT-2 under its own name or under the general one, which transformers takes as well. A file that
// gives both must mean the same.
int64_t size_of(ObjectReader& reader, const std::string& own, const std::string& general) {
  if (!reader.has(general)) return reader.integer(own);
  const int64_t size = reader.integer(general);
  if (reader.has(own) && reader.integer(own) != size)
    throw request_error(
        fmt::format("{}: \"{}\" is {} and \"{}\" is {}; they are two names of one size, so give "
                    "one of them",
                    reader.where(), own, reader.integer(own), general, size));
  return size;
}

// The word of BERT whose lookups give no gradient; -1: none. As in transformers, a config.json without the
// key means 0, null means none, and a negative number counts from the end of the vocabulary.
int64_t pad_token(ObjectReader& reader, int64_t vocab) {
  if (!reader.has("pad_token_id")) return 0;
  if (reader.child("pad_token_id").is_null()) return -1;
  const int64_t id = reader.integer("pad_token_id");
  if (id < -vocab || id >= vocab)
    throw request_error(
        fmt::format("{}: \"pad_token_id\": {} is not a word of {}; give 0 to {}, or null for none",
                    reader.where(), id, vocab, vocab - 1));
  return id < 0 ? vocab + id : id;
}

// config.json holds dozens of keys that have nothing to do with the sizes, so unknown keys are no error here.
Model read_hugging_face(const std::string& folder) {
  const std::string path = folder + "/config.json";
  if (!std::filesystem::exists(path)) {
    throw request_error("no config.json in \"" + folder + "\"; --model takes a preset (" +
                        join(model_names()) + ") or a folder with a Hugging Face config.json");
  }
  const nlohmann::json json = read_json_file(path);
  ObjectReader reader(json, path);
  const std::string type = reader.string("model_type");
  if (type != "gpt2" && type != "bert" && type != "megatron-bert") {
    throw request_error(path + ": model_type \"" + shown(type) +
                        "\" is not supported; known: gpt2, bert, megatron-bert");
  }
  const bool gpt = type == "gpt2";
  refuse_other_functions(json, gpt, path);
  Model model = architecture_defaults(gpt ? Architecture::Gpt : Architecture::Bert);
  if (type == "megatron-bert") model.norm = NormPlacement::Pre;
  model.tied = reader.boolean_or("tie_word_embeddings", true);
  model.name = folder;
  const auto stem = std::filesystem::absolute(folder).lexically_normal();
  model.title = (stem.has_filename() ? stem : stem.parent_path()).filename().string();
  const auto size = [&](const char* of_gpt2, const char* general) {
    return gpt ? size_of(reader, of_gpt2, general) : reader.integer(general);
  };
  model.layers = size("n_layer", "num_hidden_layers");
  model.hidden = size("n_embd", "hidden_size");
  model.heads = size("n_head", "num_attention_heads");
  model.kv_heads = reader.integer_or("num_key_value_heads", 0);
  if (model.kv_heads == model.heads) model.kv_heads = 0;
  // Clamped so that an absurd width cannot overflow here; validate_model() below refuses it with its figure.
  const int64_t usual_ffn = 4 * std::clamp<int64_t>(model.hidden, 0, kLargestHidden);
  model.ffn = gpt ? reader.integer_or("n_inner", usual_ffn) : reader.integer("intermediate_size");
  model.vocab = reader.integer("vocab_size");
  model.positions = size("n_positions", "max_position_embeddings");
  model.norm_epsilon = reader.number_or(gpt ? "layer_norm_epsilon" : "layer_norm_eps", model.norm_epsilon);
  model.gelu = gelu_form(
      gpt ? reader.string_or("activation_function", "gelu_new") : reader.string_or("hidden_act", "gelu"),
      path);
  try {
    validate_model(model);
  } catch (const Error& error) {
    throw request_error(path + ": " + error.what());
  }
  if (!gpt) model.pad_token = pad_token(reader, model.vocab);
  return model;
}

}  // namespace

const std::vector<Model>& model_presets() {
  static const std::vector<Model> presets = read_model_presets();
  return presets;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Model& model : model_presets()) names.push_back(model.name);
  return names;
}

Model model_preset(const std::string& name) {
  for (const Model& model : model_presets()) {
    if (model.name == name) return model;
  }
  throw unknown_name("model", name, model_names());
}

Model find_model(const std::string& name_or_folder) {
  const std::string folder = folder_of_model(name_or_folder);
  return folder.empty() ? model_preset(name_or_folder) : read_hugging_face(folder);
}

std::string folder_of_model(const std::string& name_or_folder) {
  const std::vector<std::string> names = model_names();
  if (std::find(names.begin(), names.end(), name_or_folder) != names.end()) return {};
  const bool folder =
      name_or_folder.find('/') != std::string::npos || std::filesystem::is_directory(name_or_folder);
  return folder ? name_or_folder : std::string();
}

std::string hidden_folder_remark(const std::string& name_or_folder) {
  std::error_code unknown;
  if (!std::filesystem::exists(name_or_folder + "/config.json", unknown)) return {};
  return hidden_path_remark(name_or_folder, model_names(), "the built-in model");
}

int64_t padded_vocab(const Model& model, int tp) {
  const int64_t multiple = 128 * static_cast<int64_t>(tp);
  return (model.vocab + multiple - 1) / multiple * multiple;
}

}  // namespace shardlens
