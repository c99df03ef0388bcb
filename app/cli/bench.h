// The measurements of `bench` that have a file of their own. Each returns the exit code.
#pragma once

#include <string>

#include "app/cli/options.h"
#include "app/cli/record.h"

namespace shardlens::cli {

/// What `bench scaling --out` was asked for.
struct GrowthWish {
  std::string folder;
  double budget_seconds = 300;
  int repetitions = 5;
};
/// `bench scaling --out FOLDER`: how a training step's time grows, as tables and charts in the folder.
int bench_growth(const CommonOptions& options, const GrowthWish& wish);

/// What was measured and where, as a head line: the model, or the layer of it, its ranks, `split` where it is
/// not empty, and sizes.
void print_head(const Settings& settings, const char* whole_model, const std::string& split);

/// `bench step`.
int bench_step(const CommonOptions& options, int repetitions, const RecordOptions& record);

/// `bench generate`.
int bench_generate(const CommonOptions& options, int repetitions);

/// `bench record`; the recordings stay where `out` names them.
int bench_record(const CommonOptions& options, int repetitions, const std::string& out,
                 const RecordOptions& record);

/// `bench trace`.
int bench_trace(const CommonOptions& options, int repetitions);

/// `bench plan`: a model of a trillion parameters priced, and a tournament.
int bench_plan(int repetitions, bool json);

}  // namespace shardlens::cli
