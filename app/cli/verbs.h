// The verbs of shardlens-cli. Each registers its options on the command line and is run by main when chosen;
// what a verb prints with --json is one JSON object on stdout and nothing else.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace shardlens::cli {

/// What a verb ends with: 0 done, 1 the check failed, or kStoppedBySignal and the signal. Requests that are
/// wrong (2) and runs that fail (3) throw.
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

}  // namespace shardlens::cli
