// Damage to JSON: to values and keys of a text that stays valid, and by pieces that no library writes.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/fuzz/file_harm.h"

namespace shardlens::fuzz {
namespace {

using nlohmann::ordered_json;

// Of one element that is put in many times: the file is cut far below it, and making it must not take the
// memory.
constexpr size_t kMostRepeatedBytes = size_t{8} << 20;

// Stand for text that is put in when the JSON is written: valid JSON cannot hold it.
constexpr const char* kRawValue = "@@raw-value";
constexpr const char* kRawKey = "@@raw-key";

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string repeated(const std::string& text, size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// A value that no library writes.
std::string raw_value(Random& random) {
  const size_t many = one_of(random, std::array{10, 1000, 100'000, 400'000});
  switch (below(random, 12)) {
    case 0:
      return repeated("[", many);
    case 1:
      return repeated("[", many) + repeated("]", many);
    case 2:
      return repeated("{\"a\":", many) + "0" + repeated("}", many);
    case 3:
      return "[{}" + repeated(",{}", many) + "]";
    case 4:
      return repeated("9", 1 + below(random, 400));
    case 5:
      return one_of(
          random, std::array{"1e999", "-1e999", "1e-999", "0x10", "NaN", "Infinity", "-0", "01", "+1", "1."});
    case 6:
      return "\"\\ud800\"";
    case 7:
      return "\"\\u0000\"";
    case 8:
      return "\"\xff\xc3\"";
    case 9:
      return "\"\x1b[31m\"";
    case 10:
      return std::string("\"a\0b\"", 5);
    default:
      return one_of(random, std::array{"", ",", "tru", "'a'", "/**/1", "}", "]"});
  }
}

ordered_json any_value(Random& random) {
  switch (below(random, 12)) {
    case 0:
      return nullptr;
    case 1:
      return below(random, 2) == 0;
    case 2:
      return one_of(random, std::array{0.5, -0.5, 1.5, 1e300, -1e300, 1e-320, 3.0, 1e10});
    case 3:
      return static_cast<uint64_t>(random());
    case 4:
      return ordered_json::array();
    case 5:
      return ordered_json::object();
    case 6:
      return ordered_json::array({strange_text(random), 1, nullptr});
    case 7:
      return ordered_json{{strange_text(random), 1}};
    case 8:
      return strange_text(random);
    case 9:
      return kRawValue;
    default:
      return one_of(random, kNumbers);
  }
}

void collect(ordered_json& value, std::vector<ordered_json*>& all) {
  all.push_back(&value);
  if (!value.is_structured()) return;
  for (ordered_json& child : value) collect(child, all);
}

// Short lists and the values around them are chosen as often as the thousands of a vocabulary.
ordered_json& any_place(ordered_json& root, Random& random) {
  if (below(random, 2) == 0) {
    std::vector<ordered_json*> all;
    collect(root, all);
    return *one_of(random, all);
  }
  ordered_json* place = &root;
  while (place->is_structured() && !place->empty() && below(random, 4) > 0)
    place = &*std::next(place->begin(), static_cast<std::ptrdiff_t>(below(random, place->size())));
  return *place;
}

std::string any_key(const ordered_json& object, Random& random) {
  return std::next(object.begin(), static_cast<std::ptrdiff_t>(below(random, object.size()))).key();
}

void harm_object(ordered_json& object, Random& random, std::string& raw_key, std::string& done) {
  const std::string key = any_key(object, random);
  switch (below(random, 4)) {
    case 0:
      object.erase(key);
      done += "a key taken out";
      break;
    case 1: {
      const ordered_json value = object[key];
      object.erase(key);
      object[strange_text(random)] = value;
      done += "another key";
      break;
    }
    case 2:
      raw_key = key;
      object[kRawKey] = below(random, 2) == 0 ? object[key] : any_value(random);
      done += "a key twice";
      break;
    default:
      object[strange_text(random)] = any_value(random);
      done += "a strange key";
  }
}

void harm_array(ordered_json& array, Random& random, std::string& done) {
  const size_t at = below(random, array.size());
  switch (below(random, 4)) {
    case 0:
      array.erase(at);
      done += "an element taken out";
      break;
    case 1:
      array.push_back(array[at]);
      done += "an element twice";
      break;
    case 2: {
      const ordered_json one = array[at];
      const size_t wanted = one.size() > 1 ? 100 : one_of(random, std::array{10, 1000, 30'000});
      const size_t bytes = one.dump(-1, ' ', false, ordered_json::error_handler_t::ignore).size();
      const size_t many = std::min(wanted, kMostRepeatedBytes / bytes + 1);
      for (size_t i = 0; i < many; ++i) array.push_back(one);
      done += fmt::format("an element {} times", many);
      break;
    }
    default:
      std::swap(array[at], array[below(random, array.size())]);
      done += "two elements in each other's place";
  }
}

void harm_value(ordered_json& value, Random& random, std::string& done) {
  if (value.is_number_integer() && below(random, 3) == 0) {
    const auto number = value.get<int64_t>();
    // Without overflow, and beyond it: half of them at a neighbour's value.
    value = below(random, 2) == 0 ? static_cast<int64_t>(static_cast<uint64_t>(number) + below(random, 5) - 2)
                                  : static_cast<int64_t>(static_cast<uint64_t>(number) * 2);
    done += "a number near it";
    return;
  }
  if (value.is_string() && below(random, 3) == 0) {
    auto text = value.get<std::string>();
    text.insert(below(random, text.size() + 1), strange_text(random));
    value = text;
    done += "a strange word";
    return;
  }
  value = any_value(random);
  done += fmt::format("a value of the type {}", value.type_name());
}

// The text of one line, or of all.
std::string harm_one(const std::string& text, Random& random, std::string& done) {
  if (is_nested_deeply(text)) return harm_bytes(text, random, done);
  ordered_json root = ordered_json::parse(text, nullptr, false);
  if (root.is_discarded()) return harm_bytes(text, random, done);
  std::string raw_key;
  ordered_json& place = any_place(root, random);
  if (place.is_object() && !place.empty() && below(random, 3) > 0) {
    harm_object(place, random, raw_key, done);
  } else if (place.is_array() && !place.empty() && below(random, 3) > 0) {
    harm_array(place, random, done);
  } else {
    harm_value(place, random, done);
  }
  std::string written = root.dump(-1, ' ', false, ordered_json::error_handler_t::ignore);
  if (written.find(kRawValue) != std::string::npos) {
    done += ", which no library writes";
    replace_all(written, fmt::format("\"{}\"", kRawValue), raw_value(random));
  }
  if (!raw_key.empty()) replace_all(written, fmt::format("\"{}\"", kRawKey), ordered_json(raw_key).dump());
  return written;
}

}  // namespace

bool is_nested_deeply(const std::string& text) {
  constexpr int kDeep = 1000;
  int depth = 0;
  return std::any_of(text.begin(), text.end(), [&](char c) {
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    return depth > kDeep;
  });
}

std::string harm_json(std::string text, Random& random, std::string& done) {
  // One object a line: one of the lines.
  const bool lines = text.size() > 1 && text.find("}\n{") != std::string::npos;
  if (!lines) return harm_one(text, random, done);
  const size_t begin = text.find_last_of('\n', below(random, text.size())) + 1;
  const size_t end = std::min(text.find('\n', begin), text.size());
  if (end <= begin) return harm_bytes(std::move(text), random, done);
  return text.replace(begin, end - begin, harm_one(text.substr(begin, end - begin), random, done));
}

}  // namespace shardlens::fuzz
