// The options for a model and its run: one table for both programs, and the Settings made from them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/settings.h"

namespace shardlens::cli {

/// The options as typed. The values at the time the options are added are the defaults; a program or a verb
/// may set its own.
struct RunOptions {
  std::string model = "gpt2";
  std::string norm;  ///< empty: the model's own
  int tp = 2;
  int dp = 1;
  std::string heads_policy;         ///< empty: strict
  std::optional<int64_t> kv_heads;  ///< none: the model's own
  std::string split = "megatron";
  std::string dtype = "fp32";
  int64_t batch = 4;
  int64_t seq = 256;
  uint64_t seed = 1234;
  std::string recompute = "none";
  std::string loss;  ///< empty: the split's own
  int micro_batches = 1;
  int overlap_chunks = 1;
  std::string fusion = "auto";
  double dropout = 0;
  std::string weights;  ///< empty: the model's own
  std::string backend = "cpu";
  std::string gpus;  ///< numbers with commas; empty: all
  bool tf32 = false;
  std::string comm = "auto";
  std::string hardware = Settings{}.hardware;
  int threads_per_rank = 0;
  double timeout_seconds = Settings{}.timeout_seconds;
  std::optional<int64_t> layer;
  std::string block = "layer";
  std::string operands = "normal";
  std::string input = "normal";
  std::optional<int64_t> cache;
  std::vector<std::string> delays;

  /// The block that runs if neither --layer nor --block is given.
  Block unasked = Block::Model;
  const CLI::Option* layer_option = nullptr;
  const CLI::Option* block_option = nullptr;
};

/// The options' heading in --help.
inline constexpr const char* kRunGroup = "Model and run";

/// Groups of options: those of every model and run, those of one layer, --cache, --delay.
enum class Part { Run, Layer, Cache, Delay };

void add_run_options(CLI::App& app, RunOptions& options, std::initializer_list<Part> parts);

/// Reads presets and files. Throws a request Error for an unknown name.
Settings settings_of(const RunOptions& options);

/// Fits the settings to their weights (fit_to_weights()). Returns what a person should know about the files
/// of the model, a sentence each. Throws what fit_to_weights() throws.
std::vector<std::string> fit_to_files(const RunOptions& options, Settings& settings);

/// Returns the part of the model that runs. Throws a request Error for an unknown block.
Block block_of(const RunOptions& options);

std::vector<Delay> parse_delays(const std::vector<std::string>& texts);

}  // namespace shardlens::cli
