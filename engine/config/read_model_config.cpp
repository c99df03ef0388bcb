// Reads a Hugging Face config.json: which row of forms.h its model_type names, and what its keys say. A key
// that changes the model's function is used or refused by its name.
#include "engine/config/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/config/forms.h"
#include "engine/config/presets.h"
#include "engine/config/validate.h"
#include "engine/io/json.h"
#include "engine/io/json_text.h"

namespace shardlens {
namespace {

// Converts Hugging Face's name of the activation of GPT-2 and BERT.
Activation gelu_form(const std::string& activation, const std::string& where) {
  if (activation == "gelu") return Activation::GeluErf;
  if (activation == "gelu_new" || activation == "gelu_pytorch_tanh" || activation == "gelu_fast") {
    return Activation::GeluTanh;
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

// GPT-2 and BERT: their files hold dozens of keys that have nothing to do with the function, and those that
// do are known. So unknown keys are no error.
void read_fields(ObjectReader& reader, const nlohmann::json& json, Model& model) {
  const bool gpt = model.form == "gpt2";
  refuse_other_functions(json, gpt, reader.where());
  model.tied = reader.boolean_or("tie_word_embeddings", true);
  const auto size = [&](const char* of_gpt2, const char* general) {
    return gpt ? size_of(reader, of_gpt2, general) : reader.integer(general);
  };
  model.layers = size("n_layer", "num_hidden_layers");
  model.hidden = size("n_embd", "hidden_size");
  model.heads = size("n_head", "num_attention_heads");
  model.kv_heads = reader.integer_or("num_key_value_heads", 0);
  // Clamped so that an absurd width cannot overflow here; validate_model() below refuses it with its figure.
  const int64_t usual_ffn = 4 * std::clamp<int64_t>(model.hidden, 0, kLargestHidden);
  model.ffn = gpt ? reader.integer_or("n_inner", usual_ffn) : reader.integer("intermediate_size");
  model.vocab = reader.integer("vocab_size");
  model.positions = size("n_positions", "max_position_embeddings");
  model.norm_epsilon = reader.number_or(gpt ? "layer_norm_epsilon" : "layer_norm_eps", model.norm_epsilon);
  model.activation = gelu_form(
      gpt ? reader.string_or("activation_function", "gelu_new") : reader.string_or("hidden_act", "gelu"),
      reader.where());
}

}  // namespace

Model read_model_config(const std::string& folder) {
  const std::string path = folder + "/config.json";
  if (!std::filesystem::exists(path)) {
    throw request_error("no config.json in \"" + folder + "\"; --model takes a preset (" +
                        join(model_names()) + ") or a folder with a Hugging Face config.json");
  }
  const nlohmann::json json = read_json_file(path);
  ObjectReader reader(json, path);
  const std::string type = reader.string("model_type");
  std::vector<std::string> known;
  for (const ModelForm& form : model_forms()) known.emplace_back(form.name);
  if (std::find(known.begin(), known.end(), type) == known.end())
    throw request_error(
        fmt::format("{}: model_type \"{}\" is not supported; known: {}", path, shown(type), join(known)));
  Model model = find_form(type).defaults;
  model.name = folder;
  const auto stem = std::filesystem::absolute(folder).lexically_normal();
  model.title = (stem.has_filename() ? stem : stem.parent_path()).filename().string();
  read_fields(reader, json, model);
  if (model.kv_heads == model.heads) model.kv_heads = 0;
  try {
    validate_model(model);
  } catch (const Error& error) {
    throw request_error(path + ": " + error.what());
  }
  if (model.form != "gpt2") model.pad_token = pad_token(reader, model.vocab);
  return model;
}

}  // namespace shardlens
