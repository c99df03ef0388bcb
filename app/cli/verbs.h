// The verbs of shardlens-cli. Each adds its options to the command line, and main runs the chosen one. With
// --json a verb prints one JSON object on stdout and nothing else.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace shardlens::cli {

/// Returns 0 if done, 1 if the check failed, or kStoppedBySignal plus the signal. Throws for wrong requests
/// (2) and failed runs (3).
using Verb = std::function<int()>;

Verb add_plan(CLI::App& app);
Verb add_step(CLI::App& app);
Verb add_verify(CLI::App& app);
Verb add_train(CLI::App& app);
Verb add_eval(CLI::App& app);
Verb add_generate(CLI::App& app);
Verb add_bench(CLI::App& app);
Verb add_data(CLI::App& app);
Verb add_info(CLI::App& app);
Verb add_export(CLI::App& app);
Verb add_diff(CLI::App& app);
Verb add_lesson(CLI::App& app);
Verb add_page(CLI::App& app);

}  // namespace shardlens::cli
