// The options that verbs share: those of every run (app/command_line/run_options.h) and --json.
#pragma once

#include <string>
#include <vector>

#include "app/command_line/run_options.h"

namespace shardlens::cli {

struct CommonOptions : RunOptions {
  bool json = false;
};

/// Adds what the verbs about a whole model share.
void add_model_options(CLI::App& verb, CommonOptions& options);

/// The same, and what is only about one layer.
void add_common(CLI::App& verb, CommonOptions& options);

/// Throws a request Error that names the first of `options` that was given to the verb, which has no use for
/// it. `why` goes on after "--batch has no effect: ".
void refuse_without_effect(const CLI::App& verb, const std::vector<std::string>& options,
                           const std::string& why);

/// What settings_of() returns, for this machine. Throws a request Error for anything that names nothing.
Settings to_settings(const CommonOptions& options);

/// Says on stderr which heads of the model start seeded because its weights file has none.
void say_seeded_heads(const Settings& settings);

/// Says on stderr that the model knows nothing, where it was given no weights: for verbs that are about what
/// a model has learned.
void say_untrained(const Settings& settings);

/// True when the verb is about the whole model: no --layer and no --block were given.
bool is_whole_model(const CommonOptions& options);

}  // namespace shardlens::cli
