// The options of `step` that are only for a whole model.
#pragma once

#include <string>

#include "app/cli/options.h"
#include "app/cli/record.h"

namespace shardlens::cli {

struct ModelStepOptions {
  std::string tokens, labels, token_types, attention_mask, sop;  ///< .npy files
  int updates = 0;
  double learning_rate = 1e-3;
  OptimizerSettings optimizer;
};

void add_model_step(CLI::App& app, ModelStepOptions& options);

/// For one layer: throws a request Error if an option of add_model_step() was given, because it has no
/// effect.
void refuse_model_step(const CLI::App& app);

/// Runs, prints and dumps; returns the exit code.
int run_model_step(const CLI::App& app, const CommonOptions& common, const ModelStepOptions& options,
                   const RecordOptions& record, const std::string& dump_path);

}  // namespace shardlens::cli
