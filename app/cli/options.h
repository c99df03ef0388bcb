// The options that verbs share: those of every run (app/command_line/run_options.h) and --json.
#pragma once

#include <string>
#include <vector>

#include "app/command_line/run_options.h"

namespace shardlens::cli {

struct CommonOptions : RunOptions {
  bool json = false;
};

/// Adds the options that the verbs for a whole model share.
void add_model_options(CLI::App& verb, CommonOptions& options);

/// The same, and the options for one layer.
void add_common(CLI::App& verb, CommonOptions& options);

/// Throws a request Error if one of `options` was given, because the verb does not use them. `why` follows
/// the words
/// "--batch has no effect: ".
void refuse_without_effect(const CLI::App& verb, const std::vector<std::string>& options,
                           const std::string& why);

/// Returns settings_of(), fitted to the model's files and adapted to this machine. Prints on stderr what a
/// person should know about the files. Throws a request Error for an unknown name or an unreadable file.
Settings to_settings(const CommonOptions& options);

/// Prints on stderr that the model is untrained, if no weights were given. For verbs that use what a model
/// has learned.
void say_untrained(const Settings& settings);

/// True when the verb is about the whole model: no --layer and no --block were given.
bool is_whole_model(const CommonOptions& options);

}  // namespace shardlens::cli
