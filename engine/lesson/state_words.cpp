// Words are read by the reader of scenes, so that both know the same keys and say the same about them.
#include "engine/lesson/state_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/lesson/parse.h"
#include "engine/lesson/read_blocks.h"
#include "engine/lesson/run_keys.h"

namespace shardlens {
namespace {

const std::string kWhere = "the state";  // in place of a file

/// What TOML reads; none: it is no value of TOML, and a text that lacks quotes.
std::optional<TomlValue> toml_value(const std::string& text) {
  try {
    const TomlValue table = parse_toml("v = " + text, kWhere, 1);
    if (table.entries().size() == 1) return table.entries().front().second;
  } catch (const Error&) {
  }
  return {};
}

std::string as_word(const std::string& key, const TomlValue& value) {
  const bool is_plain = value.is_text() && !std::get<std::string>(value.is).empty() &&
                        !toml_value(std::get<std::string>(value.is));
  return key + "=" + (is_plain ? std::get<std::string>(value.is) : to_text(value));
}

/// Without the line, which words do not have.
std::string without_place(const std::string& message) {
  const std::string place = kWhere + ":1: ";
  return message.starts_with(place) ? message.substr(place.size()) : message;
}

}  // namespace

std::vector<std::string> state_as_words(const SceneState& state) {
  std::vector<std::string> words;
  for (const auto& [key, value] : state.run.table.entries()) words.push_back(as_word(key, value));
  const TomlValue table = parse_toml(scene_as_toml(state), kWhere, 1);
  for (const auto& [key, value] : table.entries())
    if (key != "run") words.push_back(as_word(key, value));
  return words;
}

SceneState state_of_words(const std::vector<std::string>& words) {
  TomlValue::Table state, run;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    if (equals == std::string::npos || key.empty())
      throw request_error(
          fmt::format("{}: a part of a state is KEY=VALUE, such as view=memory or tp=8", shown(word)));
    TomlValue::Table& table = is_run_key(key) ? run : state;
    if (std::any_of(table.begin(), table.end(), [&](const auto& one) { return one.first == key; }))
      throw request_error(fmt::format("{} stands twice in the state: leave one out", shown(key)));
    const std::string text = word.substr(equals + 1);
    TomlValue value = toml_value(text).value_or(TomlValue{text, 1});
    table.emplace_back(key, std::move(value));
  }
  if (!run.empty()) state.emplace_back("run", TomlValue{std::move(run), 1});
  try {
    const Names none;
    return read_scene(TomlValue{std::move(state), 1}, {kWhere, 1, none}, kWhere);
  } catch (const Error& error) {
    throw Error(error.kind(), without_place(error.what()));
  }
}

}  // namespace shardlens
