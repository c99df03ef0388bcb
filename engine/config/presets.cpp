// Reads model presets, and finds the folders of models.
#include "engine/config/presets.h"

#include <algorithm>
#include <filesystem>

#include "engine/base/suggest.h"
#include "engine/config/assets.h"
#include "engine/config/forms.h"
#include "engine/config/model_config.h"
#include "engine/io/hidden_path.h"
#include "engine/io/json.h"

namespace shardlens {
namespace {

Model read_preset(const nlohmann::json& json) {
  ObjectReader reader(json, "models.json");
  Model model = find_form(reader.string("form")).defaults;
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
  return folder.empty() ? model_preset(name_or_folder) : read_model_config(folder);
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
