// The settings that a lesson, a scene or a draw can state, one row a key. The reader, the messages, *Save as
// scene* and the page for authors all read the table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/lesson/lesson.h"

namespace shardlens {

struct RunKey {
  const char* name;
  const char* takes;  ///< for the page: "1, 2, 4, …"
  /// Reads the value into the settings. Throws a request Error without file and line.
  void (*apply)(Settings& settings, const TomlValue& value);
  /// The value in these settings, as TOML.
  std::string (*written)(const Settings& settings);
};

std::span<const RunKey> run_keys();
std::vector<std::string> run_key_names();
bool is_run_key(const std::string& name);
/// A Markdown table of them, for the page of authors.
std::string run_keys_as_markdown();

/// What a lesson runs if it states nothing: one GPT-2 layer on four ranks, small enough for five seconds.
Settings lesson_defaults();

/// The name in "{{name}}": a scene runs what was drawn for it. Empty: the value is not such a text.
std::string drawn_name(const TomlValue& value);

/// `settings` with the change applied, in the table's order: a model before its sizes. Throws a lesson_error
/// in `file`.
void apply(const RunChange& change, const std::string& file, Settings& settings);

/// The keys in which `settings` differ from `base`, as lines of TOML.
std::string difference_as_toml(const Settings& base, const Settings& settings);

/// The settings of a scene: the lesson's, what was drawn, and what the scene states. Throws a lesson_error.
Settings settings_of(const Lesson& lesson, const Drawn& drawn);
Settings settings_of(const Lesson& lesson, const SceneState& state, const Drawn& drawn);

/// What `seed` draws: the same on every machine. What cannot be run (12 heads at T = 8) is drawn again.
/// Without a seed: what the lesson's [run] states, else the first value of the list.
Drawn draw(const Lesson& lesson, std::optional<uint64_t> seed);

}  // namespace shardlens
