// The measurements of `bench` that have a file of their own. Each returns the exit code of the program.
#pragma once

#include <string>

#include "app/cli/options.h"
#include "app/cli/record.h"

namespace shardlens::cli {

/// The request to `bench scaling --out`.
struct GrowthWish {
  std::string folder;
  double budget_seconds = 300;
  int repetitions = 5;
};
/// `bench scaling --out FOLDER`: how a training step's time grows, as tables and charts in the folder.
int bench_growth(const CommonOptions& options, const GrowthWish& wish);

/// Prints a head line: the model (or one layer of it), its ranks, `split` if it is not empty, sizes, and the
/// machine.
void print_head(const Settings& settings, const char* whole_model, const std::string& split);

/// `bench step`.
int bench_step(const CommonOptions& options, int repetitions, const RecordOptions& record);

/// `bench generate`.
int bench_generate(const CommonOptions& options, int repetitions);

/// `bench record`. If `out` is not empty, the recordings are kept there.
int bench_record(const CommonOptions& options, int repetitions, const std::string& out,
                 const RecordOptions& record);

/// `bench trace`.
int bench_trace(const CommonOptions& options, int repetitions);

/// `bench plan`: times the price of a model with a trillion parameters, and a tournament.
int bench_plan(int repetitions, bool json);

}  // namespace shardlens::cli
