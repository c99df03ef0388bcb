// What both programs ask about files that they write: --overwrite, --no-overwrite, and whether the place of
// an output is free (engine/io/output_file.h).
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "engine/io/output_file.h"

namespace shardlens::cli {

/// Adds --overwrite and --no-overwrite. They hold for all outputs of the command, wherever they stand in it.
void add_overwrite(CLI::App& app);

/// Accepts the path of an output of this kind unless it would replace what is there and must not.
CLI::Validator free_output(const OutputKind& kind);

/// Takes the place of the output that `option` names; null if `path` is empty. An Error begins with the
/// option. Keep the place until the output is written.
std::unique_ptr<OutputPlace> take_place(const std::string& option, const std::string& path,
                                        const OutputKind& kind, bool goes_on = false);

/// Throws a request Error if two of the options name the same file. Empty paths are none.
void require_different_files(std::initializer_list<std::pair<const char*, std::string>> options);

}  // namespace shardlens::cli
