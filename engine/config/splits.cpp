// Named splits and split files.
#include "engine/config/splits.h"

#include <algorithm>
#include <filesystem>

#include "engine/config/suggest.h"
#include "engine/io/json.h"

namespace shardlens {
namespace {

struct CutKey {
  const char* key;
  Cut Split::*cut;
};
constexpr CutKey kCutKeys[] = {{"attn.qkv", &Split::attn_qkv},
                               {"attn.proj", &Split::attn_proj},
                               {"mlp.fc", &Split::mlp_fc},
                               {"mlp.proj", &Split::mlp_proj}};

// The grammar's other keys: what a file may say, and the one value a single layer runs with.
struct FixedKey {
  const char* key;
  std::vector<std::string> values;
  const char* runs;
};
const std::vector<FixedKey>& fixed_keys() {
  static const std::vector<FixedKey> keys = {{"embedding", {"vocab", "hidden", "replicated"}, "vocab"},
                                             {"norm", {"replicated", "parallel", "sequence"}, "replicated"},
                                             {"loss", {"fused", "gather"}, "fused"}};
  return keys;
}

Split split_from_json(const nlohmann::json& json, const std::string& source) {
  ObjectReader reader(json, source);
  Split split;
  split.name = std::filesystem::path(source).stem().string();
  for (const CutKey& key : kCutKeys) {
    if (!reader.has(key.key)) continue;
    try {
      split.*key.cut = parse_cut(reader.string(key.key));
    } catch (const Error& error) {
      throw request_error(source + ", \"" + key.key + "\": " + error.what());
    }
  }
  for (const FixedKey& key : fixed_keys()) {
    if (!reader.has(key.key)) continue;
    const std::string value = reader.string(key.key);
    if (std::find(key.values.begin(), key.values.end(), value) == key.values.end()) {
      throw request_error(
          source + ": " +
          unknown_name(std::string("value of \"") + key.key + "\"", value, key.values).what());
    }
    if (value != key.runs) {
      throw request_error(source + ": \"" + key.key + "\": \"" + value +
                          "\" is not in this version, which runs \"" + key.key + "\": \"" + key.runs + "\"");
    }
  }
  reader.finish();
  return split;
}

}  // namespace

const std::vector<Split>& named_splits() {
  static const std::vector<Split> splits = {
      {"megatron", Cut::Column, Cut::Row, Cut::Column, Cut::Row},
      {"reversed", Cut::Row, Cut::Column, Cut::Row, Cut::Column},
      {"row-row", Cut::Row, Cut::Row, Cut::Row, Cut::Row},
      {"column-column", Cut::Column, Cut::Column, Cut::Column, Cut::Column},
      {"replicated", Cut::Replicated, Cut::Replicated, Cut::Replicated, Cut::Replicated}};
  return splits;
}

std::vector<std::string> split_names() {
  std::vector<std::string> names;
  for (const Split& split : named_splits()) names.push_back(split.name);
  return names;
}

Split named_split(const std::string& name) {
  for (const Split& split : named_splits()) {
    if (split.name == name) return split;
  }
  throw unknown_name("split", name, split_names());
}

Split find_split(const std::string& name_or_file) {
  const std::filesystem::path path(name_or_file);
  if (name_or_file.find('/') == std::string::npos && path.extension() != ".json")
    return named_split(name_or_file);
  return split_from_json(read_json_file(name_or_file), name_or_file);
}

Split parse_split(const std::string& json_text, const std::string& source) {
  return split_from_json(parse_json(json_text, source), source);
}

std::string split_file_text(const Split& split) {
  nlohmann::ordered_json json;
  for (const CutKey& key : kCutKeys) json[key.key] = to_string(split.*key.cut);
  return json.dump(2) + "\n";
}

}  // namespace shardlens
