// Reads JSON strictly; see json.h.
#include "engine/io/json.h"

#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/io/input_file.h"
#include "engine/io/json_text.h"

namespace shardlens {
namespace {

using nlohmann::json;

constexpr int kDeepestNesting = 64;
constexpr int64_t kMostValues =
    8'000'000;  // a value of a few letters may take a hundred times its bytes in memory
constexpr int64_t kLargestFile = 64ll << 20;

// Returns a value as it is shown in an error: always short.
std::string shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return shown(std::string_view(json_text(value)));
}

}  // namespace

json parse_json(const std::string& text, const std::string& source) {
  std::vector<std::set<std::string>> open_objects;
  int64_t values = 0;
  const auto refuse_surprises = [&](int depth, json::parse_event_t event, json& parsed) {
    if (++values > kMostValues)
      throw request_error(source + ": more than " + std::to_string(kMostValues) + " values");
    if (depth > kDeepestNesting) {
      throw request_error(source + ": nested more than " + std::to_string(kDeepestNesting) + " levels deep");
    }
    if (event == json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == json::parse_event_t::object_end) open_objects.pop_back();
    if (event == json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second) {
      throw request_error(source + ": the key \"" + parsed.get<std::string>() + "\" appears twice");
    }
    return true;
  };
  try {
    return json::parse(text, refuse_surprises);
  } catch (const json::parse_error& error) {
    if (error.byte > text.size())
      throw request_error(source + " is not valid JSON: it ends in the middle, after " +
                          std::to_string(text.size()) + " bytes");
    throw request_error(source + " is not valid JSON at byte " + std::to_string(error.byte) + " of " +
                        std::to_string(text.size()));
  } catch (const json::exception&) {
    throw request_error(source + " is not valid JSON: a number is too large or the text is not UTF-8");
  }
}

json read_json_file(const std::string& path) {
  const InputFile file(path);
  if (file.size() > kLargestFile) {
    throw request_error(path + " has " + std::to_string(file.size()) +
                        " bytes; a JSON file may have at most " + std::to_string(kLargestFile));
  }
  return parse_json(file.text(), path);
}

ObjectReader::ObjectReader(const json& value, std::string where) : value_(value), where_(std::move(where)) {
  if (!value.is_object()) throw request_error(where_ + ": expected an object, found " + shown(value));
}

bool ObjectReader::has(const std::string& key) {
  asked_.insert(key);
  return value_.contains(key);
}

bool ObjectReader::given(const std::string& key) {
  return has(key) && !value_.find(key)->is_null();
}

const json& ObjectReader::require(const std::string& key, bool (json::*is_type)() const noexcept,
                                  const char* type) {
  if (!has(key)) throw request_error(where_ + ": the key \"" + key + "\" is missing (expected " + type + ")");
  const json& found = *value_.find(key);
  if (!(found.*is_type)()) {
    throw request_error(where_ + ": \"" + key + "\" must be " + type + ", found " + shown(found));
  }
  return found;
}

int64_t ObjectReader::integer(const std::string& key) {
  const json& found = require(key, &json::is_number_integer, "a whole number");
  if (found.is_number_unsigned() && found.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    throw request_error(where_ + ": \"" + key + "\" is too large: " + shown(found));
  }
  return found.get<int64_t>();
}

int ObjectReader::small_integer(const std::string& key) {
  const int64_t value = integer(key);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    throw request_error(where_ + ": \"" + key + "\" is out of range: " + std::to_string(value));
  return static_cast<int>(value);
}

uint64_t ObjectReader::unsigned_integer(const std::string& key) {
  return require(key, &json::is_number_unsigned, "a whole number of at least 0").get<uint64_t>();
}

double ObjectReader::number(const std::string& key) {
  const double found = require(key, &json::is_number, "a number").get<double>();
  if (!std::isfinite(found)) throw request_error(where_ + ": \"" + key + "\" must be a finite number");
  return found;
}

bool ObjectReader::boolean(const std::string& key) {
  return require(key, &json::is_boolean, "true or false").get<bool>();
}

std::string ObjectReader::string(const std::string& key) {
  return require(key, &json::is_string, "a text").get<std::string>();
}

const json& ObjectReader::child(const std::string& key) {
  if (!has(key)) throw request_error(where_ + ": the key \"" + key + "\" is missing");
  return *value_.find(key);
}

int64_t ObjectReader::integer_or(const std::string& key, int64_t fallback) {
  return given(key) ? integer(key) : fallback;
}

double ObjectReader::number_or(const std::string& key, double fallback) {
  return given(key) ? number(key) : fallback;
}

bool ObjectReader::boolean_or(const std::string& key, bool fallback) {
  return given(key) ? boolean(key) : fallback;
}

std::string ObjectReader::string_or(const std::string& key, const std::string& fallback) {
  return given(key) ? string(key) : fallback;
}

void ObjectReader::finish() const {
  for (const auto& [key, value] : value_.items()) {
    if (asked_.count(key)) continue;
    const Error reason = unknown_name("key", key, {asked_.begin(), asked_.end()});
    throw request_error(where_ + ": " + reason.what());
  }
}

}  // namespace shardlens
