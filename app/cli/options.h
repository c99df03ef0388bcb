// The options all verbs share: model, T, split, dtype, sizes, seed, inputs. They name what DESIGN section 8
// names.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/settings.h"

namespace shardlens::cli {

/// The options as typed. to_settings() reads presets and files and checks them.
struct CommonOptions {
  std::string model = "gpt2";
  std::string norm;  ///< --norm: empty: as the model says
  int tp = 2;
  int dp = 1;
  std::string heads_policy;  ///< --heads-policy: empty: strict
  int64_t kv_heads = 0;      ///< --kv-heads: 0: as the model says
  std::string split = "megatron";
  std::string dtype = "fp32";
  int64_t batch = 4;
  int64_t seq = 256;
  uint64_t seed = 1234;
  std::string block = "layer";
  std::optional<int64_t> layer;  ///< --layer [INDEX]
  std::string operands = "normal";
  std::string recompute = "none";
  std::string fusion = "auto";
  std::string loss;  ///< --loss: empty: as the split says
  int micro_batches = 1;
  int overlap_chunks = 1;
  double dropout = 0;
  int64_t cache = 0;
  std::vector<std::string> delays;  ///< --delay: RANK:STEP:MS each
  std::string input = "normal";
  std::string weights;
  std::string backend = "cpu";
  std::string gpus;           ///< --gpu: numbers with commas; empty: all
  std::string comm = "auto";  ///< --comm
  bool tf32 = false;
  std::string hardware = Settings{}.hardware;
  int threads_per_rank = 0;
  double timeout_seconds = Settings{}.timeout_seconds;
  bool json = false;

  CLI::Option* layer_option = nullptr;
  CLI::Option* block_option = nullptr;
};

/// Adds the shared options to a verb: add_model_options() and what is only about one layer.
void add_common(CLI::App& verb, CommonOptions& options);

/// Adds --cache: a pass of generation instead of one of training.
void add_cache_option(CLI::App& verb, CommonOptions& options);

/// Adds --delay: ranks made late on purpose.
void add_delay_option(CLI::App& verb, CommonOptions& options);
std::vector<Delay> parse_delays(const std::vector<std::string>& texts);

/// Adds what the verbs about a whole model share.
void add_model_options(CLI::App& verb, CommonOptions& options);

/// Throws a request Error that names the first of `options` that was given to the verb, which has no use for
/// it. `why` goes on after "--batch has no effect: ".
void refuse_without_effect(const CLI::App& verb, const std::vector<std::string>& options,
                           const std::string& why);

/// Throws a request Error for anything that names nothing.
Settings to_settings(const CommonOptions& options);

/// Says on stderr which heads of the model start seeded because its weights file has none.
void say_seeded_heads(const Settings& settings);

/// Says on stderr that the model knows nothing, where it was given no weights: for verbs that are about what
/// a model has learned.
void say_untrained(const Settings& settings);

/// True when the verb is about the whole model: no --layer and no --block were given.
bool is_whole_model(const CommonOptions& options);

}  // namespace shardlens::cli
