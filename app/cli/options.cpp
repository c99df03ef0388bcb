// Shared options to Settings.
#include "app/cli/options.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "engine/config/error.h"
#include "engine/config/hardware.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/device/gpu_module.h"
#include "engine/runtime/choose.h"
#include "engine/runtime/stored_weights.h"

namespace shardlens::cli {
namespace {

constexpr const char* kGroup = "Model and run";

InputSource parse_input(const std::string& text) {
  if (text == "normal") return {};
  if (std::filesystem::path(text).extension() == ".npy") return {InputKind::Npy, text};
  return {InputKind::Text, text};
}

Operands parse_operands(const std::string& text) {
  if (text == "normal") return Operands::Normal;
  if (text == "integer") return Operands::Integer;
  throw request_error(fmt::format("--operands {} is not known; choose normal or integer", text));
}

}  // namespace

void add_model_options(CLI::App& verb, CommonOptions& o) {
  verb.add_option("--model", o.model,
                  fmt::format("Preset ({}) or a folder with config.json", fmt::join(model_names(), ", ")))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--norm", o.norm,
                  "pre or post: LayerNorm at the blocks' inputs or after their sums; as the model says if "
                  "left out")
      ->group(kGroup);
  verb.add_option("--tp", o.tp, "Tensor-parallel degree T: ranks a layer is cut over")
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--dp", o.dp, "Data-parallel degree D: replicas that share the batch")
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--heads-policy", o.heads_policy,
                  "Heads that T does not divide: strict (refused, the default), uneven (some ranks hold one "
                  "more) or padded (with heads of zero)")
      ->group(kGroup)
      ->type_name("POLICY");
  verb.add_option(
          "--kv-heads", o.kv_heads,
          "Grouped queries: key and value heads, each shared by equally many heads; as the model says "
          "if left out")
      ->group(kGroup)
      ->type_name("HEADS");
  verb.add_option("--split", o.split, fmt::format("{}, or a FILE.json", fmt::join(split_names(), ", ")))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--dtype", o.dtype, "fp32, fp64, bf16 or fp16")->group(kGroup)->capture_default_str();
  verb.add_option("--batch", o.batch, "Sequences in a batch")->group(kGroup)->capture_default_str();
  verb.add_option("--seq", o.seq, "Tokens in a sequence")->group(kGroup)->capture_default_str();
  verb.add_option("--seed", o.seed, "Seed of weights and inputs; they do not depend on T")
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--recompute", o.recompute,
                  "Activations run again instead of kept: none, selective (attention) or full (each layer)")
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--loss", o.loss, "fused or gather; as the split says if left out")->group(kGroup);
  verb.add_option("--micro-batches", o.micro_batches, "Parts the batch is run in; their gradients add up")
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option(
          "--overlap-chunks", o.overlap_chunks,
          "Parts a row-parallel product is made in, each reduced while the next is computed; 1: whole")
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option(
          "--fusion", o.fusion,
          "Neighbouring passes over the same elements as one step: on, off, or auto: of whole models. "
          "No bit depends on it")
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--dropout", o.dropout, "Probability of a zero, on attention and the residual stream")
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--weights", o.weights,
                  "GPT-2 weights in Hugging Face's names (FILE.safetensors); seeded if left out")
      ->group(kGroup);
  verb.add_option("--backend", o.backend, "cpu, cuda (GPUs), or auto: GPUs where there are any")
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--gpu", o.gpus, "GPUs that ranks are dealt out to, such as 0,2; all if left out")
      ->group(kGroup)
      ->type_name("LIST");
  verb.add_flag("--tf32", o.tf32,
                "On GPUs: fp32 matrix products round their operands to TF32's 11 bits (error 3e-4), several "
                "times faster")
      ->group(kGroup);
  verb.add_option(
          "--comm", o.comm,
          "What ranks meet through: local (threads), nccl (a GPU each), local_cuda (ranks that share one), "
          "auto (of "
          "these what suits), or mpi, each rank in a process of its own, T x D of them, on one machine or "
          "several: mpirun -n 4 shardlens-cli … --tp 4 --comm mpi")
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--hardware", o.hardware,
                  fmt::format("Machine that times are predicted for: {}, or a FILE.json of bench calibrate",
                              fmt::join(hardware_names(), ", ")))
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--threads", o.threads_per_rank, "Threads a rank computes with; 0: its share of the cores")
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--timeout", o.timeout_seconds,
                  "Seconds ranks wait for one of them before it is lost and the run ends; 0: for ever")
      ->group(kGroup)
      ->type_name("SECONDS")
      ->capture_default_str();
  verb.add_flag("--json", o.json, "One JSON object on stdout, nothing else")->group(kGroup);
}

void add_common(CLI::App& verb, CommonOptions& o) {
  add_model_options(verb, o);
  o.layer_option =
      verb.add_option("--layer", o.layer,
                      "One transformer layer, number INDEX (0 if left out), instead of the whole model")
          ->group(kGroup)
          ->expected(0, 1)
          ->type_name("[INDEX]");
  o.block_option = verb.add_option("--block", o.block, "layer, mlp or attention: how much of the layer")
                       ->group(kGroup)
                       ->capture_default_str();
  verb.add_option("--operands", o.operands,
                  "normal, or integer: matrix products of small integers, which sum exactly")
      ->group(kGroup)
      ->capture_default_str();
  verb.add_option("--input", o.input, "X: normal (seeded), FILE.npy, or a text file whose bytes are embedded")
      ->group(kGroup)
      ->capture_default_str();
}

void add_cache_option(CLI::App& verb, CommonOptions& o) {
  verb.add_option(
          "--cache", o.cache,
          "A pass of generation: --seq new tokens of each sequence against a cache of keys and values "
          "with room for so many")
      ->group(kGroup)
      ->type_name("TOKENS");
}

void add_delay_option(CLI::App& verb, CommonOptions& o) {
  verb.add_option("--delay", o.delays,
                  "RANK:STEP:MS: makes a rank (of all T x D) late before a step (its name, or its number in "
                  "`plan`), in every pass; several times, or a list with commas")
      ->group(kGroup)
      ->type_name("R:S:MS")
      ->delimiter(',')
      ->allow_extra_args(false);
}

std::vector<Delay> parse_delays(const std::vector<std::string>& texts) {
  std::vector<Delay> delays;
  for (const std::string& text : texts) delays.push_back(parse_delay(text));
  return delays;
}

void refuse_without_effect(const CLI::App& verb, const std::vector<std::string>& options,
                           const std::string& why) {
  for (const std::string& option : options)
    if (verb.get_option(option)->count() > 0)
      throw request_error(fmt::format("{} has no effect: {}; leave it out", option, why));
}

Settings to_settings(const CommonOptions& o) {
  Settings settings;
  settings.backend = parse_backend(o.backend);
  settings.gpus = parse_gpus(o.gpus);
  settings.communicator = parse_communicator(o.comm);
  settings.tf32 = o.tf32;
  settings.model = find_model(o.model);
  if (!o.norm.empty()) settings.model.norm = parse_norm_placement(o.norm);
  settings.split = find_split(o.split);
  if (o.kv_heads != 0) settings.model.kv_heads = o.kv_heads == settings.model.heads ? 0 : o.kv_heads;
  if (!o.heads_policy.empty()) settings.heads_policy = parse_heads_policy(o.heads_policy);
  settings.tp = o.tp;
  settings.dp = o.dp;
  settings.dtype = parse_dtype(o.dtype);
  settings.batch = o.batch;
  settings.seq = o.seq;
  settings.seed = o.seed;
  const bool is_whole = is_whole_model(o);
  settings.block = is_whole ? Block::Model : parse_block(o.block);
  if (!is_whole && settings.block == Block::Model)
    throw request_error("--block model is what there is without --block and --layer: leave both out");
  if (is_whole && o.input != "normal")
    throw request_error(
        fmt::format("--input {} is for one layer, and a whole model reads tokens: add --layer, or leave it "
                    "out",
                    o.input));
  settings.recompute = parse_recompute(o.recompute);
  settings.fusion = parse_fusion(o.fusion);
  if (!o.loss.empty()) settings.split.loss = parse_loss_form(o.loss);
  settings.micro_batches = o.micro_batches;
  settings.overlap_chunks = o.overlap_chunks;
  settings.dropout = o.dropout;
  settings.cache_tokens = o.cache;
  settings.layer = o.layer.value_or(0);
  settings.operands = parse_operands(o.operands);
  settings.input = parse_input(o.input);
  settings.weights_path = o.weights.empty() ? weights_of_model(o.model) : o.weights;
  settings.hardware = o.hardware;
  settings.threads_per_rank = o.threads_per_rank;
  settings.delays = parse_delays(o.delays);
  settings.timeout_seconds = o.timeout_seconds;
  // Nobody opens a module who did not ask for GPUs.
  return settings.backend == BackendChoice::Auto ? settled(std::move(settings), gpu_facts()) : settings;
}

void say_seeded_heads(const Settings& settings) {
  const std::vector<std::string> heads = seeded_heads(settings);
  if (heads.empty()) return;
  fmt::print(stderr, "{} has no {}: seeded instead\n", settings.weights_path, fmt::join(heads, ", no "));
}

void say_untrained(const Settings& settings) {
  if (!settings.weights_path.empty()) return;
  fmt::print(stderr,
             "{} is untrained here: its weights are random, drawn from --seed; give a folder with weights "
             "as --model, such as train --checkpoint makes, or --weights FILE.safetensors\n",
             settings.model.title);
}

bool is_whole_model(const CommonOptions& options) {
  const auto given = [](const CLI::Option* option) { return option != nullptr && option->count() > 0; };
  return !given(options.layer_option) && !given(options.block_option);
}

}  // namespace shardlens::cli
