// Reads the index and names the files of it.
#include "engine/io/safetensors_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/io/json.h"

namespace shardlens {
namespace {

constexpr const char* kExtension = ".safetensors";
constexpr size_t kLongestName = 255;  // of Linux's file systems

// "model" of "model.safetensors".
std::string stem_of(const std::string& path) {
  return path.ends_with(kExtension) ? path.substr(0, path.size() - std::string(kExtension).size()) : path;
}

bool are_digits(const std::string& text) {
  return text.size() >= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_plain_name(const std::string& name) {
  return shown(name, kLongestName) == name && !name.empty() && name != "." && name != ".." &&
         name.find_first_of("/\\") == std::string::npos && name.find('\0') == std::string::npos;
}

}  // namespace

std::map<std::string, std::set<std::string>> read_safetensors_index(const std::string& path) {
  const nlohmann::json index = read_json_file(path);
  ObjectReader reader(index, path);
  const nlohmann::json& weight_map = reader.child("weight_map");
  ObjectReader entries(weight_map, path + ", \"weight_map\"");
  std::map<std::string, std::set<std::string>> files;
  for (const auto& [tensor, entry] : weight_map.items()) {
    const std::string file = entries.string(tensor);
    if (!is_plain_name(file)) {
      throw request_error(fmt::format(
          "{}: tensor \"{}\" is in \"{}\"; expected the name of a file in the index's own folder, without /",
          path, shown(tensor), shown(file, kLongestName)));
    }
    files[file].insert(tensor);
  }
  if (files.empty()) throw request_error(path + ": \"weight_map\" names no tensor");
  return files;
}

std::string index_path(const std::string& path) {
  return path + ".index.json";
}

std::string shard_path(const std::string& path, size_t number, size_t count) {
  return fmt::format("{}-{:05}-of-{:05}{}", stem_of(path), number, count, kExtension);
}

bool is_written_for(const std::string& name, const std::string& file) {
  if (file == name || file == index_path(name)) return true;
  const std::string begin = stem_of(name) + "-", middle = "-of-";
  if (!file.starts_with(begin) || !file.ends_with(kExtension)) return false;
  const std::string numbers = stem_of(file).substr(begin.size());
  const size_t at = numbers.find(middle);
  return at != std::string::npos && are_digits(numbers.substr(0, at)) &&
         are_digits(numbers.substr(at + middle.size()));
}

std::string file_or_index(const std::string& path) {
  const auto is_there = [](const std::string& name) {  // also a link that leads nowhere: opening it says so
    return std::filesystem::exists(std::filesystem::symlink_status(name));
  };
  const std::string index = index_path(path);
  return !is_there(path) && is_there(index) ? index : path;
}

}  // namespace shardlens
