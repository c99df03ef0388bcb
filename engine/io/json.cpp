// Reads JSON strictly; see json.h.
#include "engine/io/json.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/io/input_file.h"
#include "engine/io/json_text.h"

namespace shardlens {
namespace {

using nlohmann::json;

constexpr size_t kDeepestNesting = 64;
constexpr int64_t kMostValues =
    8'000'000;  // a value of a few letters may take a hundred times its bytes in memory
constexpr int64_t kLargestFile = 64ll << 20;

// A key can come from the file, where every tensor or figure has a name of its own.
std::string quoted(const std::string& key) {
  return "\"" + shown(key) + "\"";
}

// Returns a value as it is shown in an error: always short.
std::string shown_value(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return shown(json_text(value));
}

Error not_valid(const std::string& source, const std::string& why) {
  return request_error(source + " is not valid JSON" + why);
}

// Builds a value from the parser's events. The library's own builder cannot refuse a duplicate key, and with
// a callback it looks through the whole list at the end of every object in it.
class JsonBuilder : public nlohmann::json_sax<json> {
 public:
  JsonBuilder(const std::string& text, const std::string& source) : text_(text), source_(source) {}
  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(json::binary_t& value) override { return add(std::move(value)); }

  bool start_object(size_t) override { return open(json::object()); }
  bool start_array(size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    count();
    const auto [member, is_new] = open_.back()->get_ref<json::object_t&>().emplace(std::move(name), nullptr);
    if (!is_new) throw request_error(source_ + ": the key \"" + shown(member->first) + "\" appears twice");
    member_ = &member->second;
    return true;
  }

  bool parse_error(size_t byte, const std::string&, const json::exception& error) override {
    const std::string bytes = std::to_string(text_.size());
    if (dynamic_cast<const json::parse_error*>(&error) == nullptr)
      throw not_valid(source_, ": the number before byte " + std::to_string(byte) + " is too large");
    if (byte > text_.size()) throw not_valid(source_, ": it ends in the middle, after " + bytes + " bytes");
    throw not_valid(source_, " at byte " + std::to_string(byte) + " of " + bytes);
  }

 private:
  void count() {
    if (++values_ > kMostValues)
      throw request_error(source_ + ": more than " + std::to_string(kMostValues) + " values");
  }
  // Puts a value to its place: the whole, the end of the open list, or the member whose key came last.
  bool add(json&& value) {
    count();
    if (open_.empty()) {
      root_ = std::move(value);
      added_ = &root_;
    } else if (open_.back()->is_array()) {
      added_ = &open_.back()->get_ref<json::array_t&>().emplace_back(std::move(value));
    } else {
      *member_ = std::move(value);
      added_ = member_;
    }
    return true;
  }
  bool open(json&& value) {
    if (open_.size() == kDeepestNesting)
      throw request_error(source_ + ": nested more than " + std::to_string(kDeepestNesting) + " levels deep");
    add(std::move(value));
    open_.push_back(added_);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& text_;
  const std::string& source_;
  json root_;
  std::vector<json*> open_;  // lists and objects that have not ended; only the last one grows
  json* member_ = nullptr;
  json* added_ = nullptr;
  int64_t values_ = 0;
};

}  // namespace

json parse_json(const std::string& text, const std::string& source) {
  // The parser takes a byte of 0 for the end of the text.
  if (const size_t zero = text.find('\0'); zero != std::string::npos)
    throw not_valid(source, " at byte " + std::to_string(zero + 1) + " of " + std::to_string(text.size()) +
                                ": it holds a byte of 0");
  JsonBuilder builder(text, source);
  json::sax_parse(text, &builder);
  return builder.take();
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
  if (!value.is_object()) throw request_error(where_ + ": expected an object, found " + shown_value(value));
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
  if (!has(key))
    throw request_error(where_ + ": the key " + quoted(key) + " is missing (expected " + type + ")");
  const json& found = *value_.find(key);
  if (!(found.*is_type)()) {
    throw request_error(where_ + ": " + quoted(key) + " must be " + type + ", found " + shown_value(found));
  }
  return found;
}

int64_t ObjectReader::integer(const std::string& key) {
  const json& found = require(key, &json::is_number_integer, "a whole number");
  if (found.is_number_unsigned() && found.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    throw request_error(where_ + ": " + quoted(key) + " is too large: " + shown_value(found));
  }
  return found.get<int64_t>();
}

int ObjectReader::small_integer(const std::string& key) {
  const int64_t value = integer(key);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    throw request_error(where_ + ": " + quoted(key) + " is out of range: " + std::to_string(value));
  return static_cast<int>(value);
}

uint64_t ObjectReader::unsigned_integer(const std::string& key) {
  return require(key, &json::is_number_unsigned, "a whole number of at least 0").get<uint64_t>();
}

double ObjectReader::number(const std::string& key) {
  const double found = require(key, &json::is_number, "a number").get<double>();
  if (!std::isfinite(found)) throw request_error(where_ + ": " + quoted(key) + " must be a finite number");
  return found;
}

bool ObjectReader::boolean(const std::string& key) {
  return require(key, &json::is_boolean, "true or false").get<bool>();
}

std::string ObjectReader::string(const std::string& key) {
  return require(key, &json::is_string, "a text").get<std::string>();
}

const json& ObjectReader::child(const std::string& key) {
  if (!has(key)) throw request_error(where_ + ": the key " + quoted(key) + " is missing");
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
