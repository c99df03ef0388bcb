// The table of options for a model and its run, and how they become Settings.
#include "app/command_line/run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "engine/base/error.h"
#include "engine/config/hardware.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/config/weights_of_model.h"
#include "engine/io/file_kind.h"
#include "engine/io/hidden_path.h"
#include "engine/runtime/stored_weights.h"

namespace shardlens::cli {
namespace {

using Words = std::vector<std::string>;
using MaybeNumber = std::optional<int64_t>;
using Place =
    std::variant<std::string RunOptions::*, int RunOptions::*, int64_t RunOptions::*, uint64_t RunOptions::*,
                 double RunOptions::*, bool RunOptions::*, MaybeNumber RunOptions::*, Words RunOptions::*>;

struct RunOption {
  Part part;
  const char* name;
  Place place;
  std::string help;
  const char* type = nullptr;  ///< the value's name in --help; null: the name of its type
  bool value_may_lack = false;
};

std::vector<RunOption> run_options() {
  using O = RunOptions;
  return {
      {Part::Run, "--model", &O::model,
       fmt::format("Preset ({}) or a folder with config.json", fmt::join(model_names(), ", "))},
      {Part::Run, "--norm", &O::norm,
       "pre or post: LayerNorm at the blocks' inputs or after their sums; the model's own if left out"},
      {Part::Run, "--tp", &O::tp, "Tensor-parallel degree T: each layer is cut over T ranks"},
      {Part::Run, "--dp", &O::dp, "Data-parallel degree D of a whole model: replicas that share the batch"},
      {Part::Run, "--heads-policy", &O::heads_policy,
       "If T does not divide the heads: strict (refuse, the default), uneven (some ranks hold one head more) "
       "or padded (add heads of zero)",
       "POLICY"},
      {Part::Run, "--kv-heads", &O::kv_heads,
       "Grouped queries: number of key and value heads, each shared by equally many heads; the model's own "
       "if left out",
       "HEADS"},
      {Part::Run, "--split", &O::split,
       fmt::format("How the weight matrices are cut: {}, or a FILE.json", fmt::join(split_names(), ", "))},
      {Part::Run, "--dtype", &O::dtype, "fp32, fp64, bf16 or fp16"},
      {Part::Run, "--batch", &O::batch, "Sequences in a batch"},
      {Part::Run, "--seq", &O::seq, "Tokens in a sequence"},
      {Part::Run, "--seed", &O::seed, "Seed of weights and inputs, which do not depend on T"},
      {Part::Run, "--recompute", &O::recompute,
       "Activations computed again instead of kept: none, selective (attention) or full (each layer)"},
      {Part::Run, "--loss", &O::loss, "fused or gather; the split's own if left out"},
      {Part::Run, "--micro-batches", &O::micro_batches,
       "Number of parts in which the batch is run; their gradients are added"},
      {Part::Run, "--overlap-chunks", &O::overlap_chunks,
       "Number of parts of a row-parallel product; each is reduced while the next is computed. 1: whole"},
      {Part::Run, "--fusion", &O::fusion,
       "Joins neighbouring passes over the same elements into one step: on, off, or auto (on for whole "
       "models). The results have the same bits"},
      {Part::Run, "--dropout", &O::dropout,
       "Probability that dropout zeroes a value, in attention and the residual stream"},
      {Part::Run, "--weights", &O::weights,
       "Weights with Hugging Face's names (FILE.safetensors, or the index of its shards); the model folder's "
       "own, or random from --seed, if left out"},
      {Part::Run, "--backend", &O::backend, "cpu, cuda (GPUs), or auto: GPUs if there are any"},
      {Part::Run, "--gpu", &O::gpus, "GPUs that ranks are spread over, such as 0,2; all if left out", "LIST"},
      {Part::Run, "--tf32", &O::tf32,
       "On GPUs: fp32 matrix products round their operands to TF32's 11 bits (error 3e-4); several times "
       "faster"},
      {Part::Run, "--comm", &O::comm,
       "Communicator of the ranks: local (threads), lockstep (ranks that take turns on one thread: exactly "
       "repeatable), nccl (one GPU for each rank), local_cuda (ranks that "
       "share a GPU), auto (whichever of these fits), or mpi: one process for each of the T x D ranks, on "
       "one machine or several: mpirun -n 4 shardlens-cli … --tp 4 --comm mpi"},
      {Part::Run, "--hardware", &O::hardware,
       fmt::format("Machine that times are predicted for: {}, or a FILE.json from bench calibrate",
                   fmt::join(hardware_names(), ", "))},
      {Part::Run, "--threads", &O::threads_per_rank, "Threads of each rank; 0: its share of the cores"},
      {Part::Run, "--timeout", &O::timeout_seconds,
       "Seconds that ranks wait for a rank before it counts as lost and the run ends; 0: for ever",
       "SECONDS"},
      {Part::Layer, "--layer", &O::layer,
       "One transformer layer, number INDEX (0 if left out), instead of the whole model", "[INDEX]", true},
      {Part::Layer, "--block", &O::block,
       "layer, mlp or attention: how much of the layer runs; in the studio also model: all layers with "
       "embedding and loss"},
      {Part::Layer, "--operands", &O::operands,
       "normal, or integer: matrix products of small integers, whose sums are exact"},
      {Part::Layer, "--input", &O::input,
       "Input X: normal (random from --seed), FILE.npy, or a text file whose bytes are embedded"},
      {Part::Cache, "--cache", &O::cache,
       "A pass of generation: --seq new tokens of each sequence use a cache of keys and values with room for "
       "this many tokens",
       "TOKENS"},
      {Part::Delay, "--delay", &O::delays,
       "RANK:STEP:MS: delays a world rank (of T x D) before a step (its name, or its number in `plan`), in "
       "every pass; give it several times, or a list with commas",
       "R:S:MS"},
  };
}

template <class T>
CLI::Option* add(CLI::App& app, const RunOption& row, T& value) {
  return app.add_option(row.name, value, row.help)->capture_default_str();
}

CLI::Option* add(CLI::App& app, const RunOption& row, MaybeNumber& value) {
  return app.add_option(row.name, value, row.help);
}

CLI::Option* add(CLI::App& app, const RunOption& row, bool& value) {
  return app.add_flag(row.name, value, row.help);
}

CLI::Option* add(CLI::App& app, const RunOption& row, Words& value) {
  return app.add_option(row.name, value, row.help)->delimiter(',')->allow_extra_args(false);
}

bool is_given(const CLI::Option* option) {
  return option != nullptr && option->count() > 0;
}

InputSource parse_input(const std::string& text) {
  if (text == "normal") return {};
  // A damaged array is still no text, so its name counts too.
  const bool is_array = kind_of_file(text) == FileKind::Npy || ending_of(text) == ".npy";
  return {is_array ? InputKind::Npy : InputKind::Text, text};
}

}  // namespace

void add_run_options(CLI::App& app, RunOptions& options, std::initializer_list<Part> parts) {
  for (const RunOption& row : run_options()) {
    if (std::find(parts.begin(), parts.end(), row.part) == parts.end()) continue;
    CLI::Option* const added =
        std::visit([&](auto place) { return add(app, row, options.*place); }, row.place);
    added->group(kRunGroup);
    if (row.type != nullptr) added->type_name(row.type);
    if (row.value_may_lack) added->expected(0, 1);
  }
  options.layer_option = app.get_option_no_throw("--layer");
  options.block_option = app.get_option_no_throw("--block");
}

Block block_of(const RunOptions& o) {
  if (!is_given(o.layer_option) && !is_given(o.block_option)) return o.unasked;
  const Block block = parse_block(o.block);
  if (block == Block::Model && o.unasked == Block::Model)
    throw request_error("without --block and --layer the whole model runs: leave both out");
  return block;
}

Settings settings_of(const RunOptions& o) {
  Settings settings;
  settings.backend = parse_backend(o.backend);
  settings.gpus = parse_gpus(o.gpus);
  settings.communicator = parse_communicator(o.comm);
  settings.tf32 = o.tf32;
  settings.model = find_model(o.model);
  if (!o.norm.empty()) settings.model.norm = parse_norm_placement(o.norm);
  settings.split = find_split(o.split);
  if (const int64_t heads = o.kv_heads.value_or(0); heads != 0)
    settings.model.kv_heads = heads == settings.model.heads ? 0 : heads;
  if (!o.heads_policy.empty()) settings.heads_policy = parse_heads_policy(o.heads_policy);
  settings.tp = o.tp;
  settings.dp = o.dp;
  settings.dtype = parse_dtype(o.dtype);
  settings.batch = o.batch;
  settings.seq = o.seq;
  settings.seed = o.seed;
  settings.block = block_of(o);
  if (settings.block == Block::Model && o.input != "normal")
    throw request_error(
        fmt::format("--input {} is for one layer, but a whole model reads tokens: {}, or leave out --input",
                    o.input, o.unasked == Block::Model ? "add --layer" : "leave out --block model"));
  settings.recompute = parse_recompute(o.recompute);
  settings.fusion = parse_fusion(o.fusion);
  if (!o.loss.empty()) settings.split.loss = parse_loss_form(o.loss);
  settings.micro_batches = o.micro_batches;
  settings.overlap_chunks = o.overlap_chunks;
  settings.dropout = o.dropout;
  settings.cache_tokens = o.cache.value_or(0);
  settings.layer = o.layer.value_or(0);
  settings.operands = parse_operands(o.operands);
  settings.input = parse_input(o.input);
  settings.weights_path = o.weights.empty() ? weights_of_model(o.model) : o.weights;
  settings.hardware = o.hardware;
  settings.threads_per_rank = o.threads_per_rank;
  settings.delays = parse_delays(o.delays);
  settings.timeout_seconds = o.timeout_seconds;
  return settings;
}

std::vector<std::string> fit_to_files(const RunOptions& o, Settings& settings) {
  std::vector<std::string> remarks{hidden_folder_remark(o.model),
                                   hidden_path_remark(o.split, split_names(), "the built-in split"),
                                   hidden_path_remark(o.hardware, hardware_names(), "the built-in hardware")};
  std::erase(remarks, "");
  const std::vector<std::string> of_weights = fit_to_weights(settings);
  remarks.insert(remarks.end(), of_weights.begin(), of_weights.end());
  return remarks;
}

std::vector<Delay> parse_delays(const std::vector<std::string>& texts) {
  std::vector<Delay> delays;
  for (const std::string& text : texts) delays.push_back(parse_delay(text));
  return delays;
}

}  // namespace shardlens::cli
