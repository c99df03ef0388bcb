// Shared options to Settings.
#include "app/cli/options.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/config/error.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"

namespace shardlens::cli {
namespace {

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

void add_common(CLI::App& verb, CommonOptions& o) {
  const std::string group = "Model and run";
  verb.add_option("--model", o.model,
                  "Preset (gpt2, bert-base, megatron-8.3b, …) or a folder with config.json")
      ->group(group)
      ->capture_default_str();
  verb.add_option("--tp", o.tp, "Tensor-parallel degree T: ranks a layer is cut over")
      ->group(group)
      ->capture_default_str();
  verb.add_option("--dp", o.dp, "Data-parallel degree D: replicas that share the batch")
      ->group(group)
      ->capture_default_str();
  verb.add_option("--split", o.split,
                  "megatron, reversed, replicated, row-row, column-column, or a FILE.json")
      ->group(group)
      ->capture_default_str();
  verb.add_option("--dtype", o.dtype, "fp32 or fp64 (fp16 and bf16 can be planned)")
      ->group(group)
      ->capture_default_str();
  verb.add_option("--batch", o.batch, "Sequences in a batch")->group(group)->capture_default_str();
  verb.add_option("--seq", o.seq, "Tokens in a sequence")->group(group)->capture_default_str();
  verb.add_option("--seed", o.seed, "Seed of weights and inputs; they do not depend on T")
      ->group(group)
      ->capture_default_str();
  o.layer_option =
      verb.add_option("--layer", o.layer,
                      "One transformer layer, number INDEX (0 if left out), instead of the whole model")
          ->group(group)
          ->expected(0, 1)
          ->type_name("[INDEX]");
  o.block_option = verb.add_option("--block", o.block, "layer, mlp or attention: how much of the layer")
                       ->group(group)
                       ->capture_default_str();
  verb.add_option("--recompute", o.recompute,
                  "Activations run again instead of kept: none, selective (attention) or full (each layer)")
      ->group(group)
      ->capture_default_str();
  verb.add_option("--loss", o.loss, "fused or gather; as the split says if left out")->group(group);
  verb.add_option("--micro-batches", o.micro_batches, "Parts the batch is run in; their gradients add up")
      ->group(group)
      ->capture_default_str();
  verb.add_option("--dropout", o.dropout, "Probability of a zero, on attention and the residual stream")
      ->group(group)
      ->capture_default_str();
  verb.add_option("--operands", o.operands,
                  "normal, or integer: matrix products of small integers, which sum exactly")
      ->group(group)
      ->capture_default_str();
  verb.add_option("--input", o.input, "X: normal (seeded), FILE.npy, or a text file whose bytes are embedded")
      ->group(group)
      ->capture_default_str();
  verb.add_option("--weights", o.weights,
                  "GPT-2 weights in Hugging Face's names (FILE.safetensors); seeded if left out")
      ->group(group);
  verb.add_option("--backend", o.backend, "cpu")->group(group)->capture_default_str();
  verb.add_option("--hardware", o.hardware, "Machine that times are predicted for")
      ->group(group)
      ->capture_default_str();
  verb.add_option("--threads", o.threads_per_rank, "Threads a rank computes with; 0: its share of the cores")
      ->group(group)
      ->capture_default_str();
  verb.add_flag("--json", o.json, "One JSON object on stdout, nothing else")->group(group);
}

Settings to_settings(const CommonOptions& o) {
  if (o.backend != "cpu") {
    throw request_error(fmt::format("--backend {}: this build has no such backend; use cpu", o.backend));
  }
  Settings settings;
  settings.model = find_model(o.model);
  settings.split = find_split(o.split);
  settings.tp = o.tp;
  settings.dp = o.dp;
  settings.dtype = parse_dtype(o.dtype);
  settings.batch = o.batch;
  settings.seq = o.seq;
  settings.seed = o.seed;
  settings.block = is_whole_model(o) ? Block::Model : parse_block(o.block);
  settings.recompute = parse_recompute(o.recompute);
  if (!o.loss.empty()) settings.split.loss = parse_loss_form(o.loss);
  settings.micro_batches = o.micro_batches;
  settings.dropout = o.dropout;
  settings.layer = o.layer.value_or(0);
  settings.operands = parse_operands(o.operands);
  settings.input = parse_input(o.input);
  settings.weights_path = o.weights;
  settings.hardware = o.hardware;
  settings.threads_per_rank = o.threads_per_rank;
  // A model folder brings its weights along.
  const std::filesystem::path in_folder = std::filesystem::path(o.model) / "model.safetensors";
  if (o.weights.empty() && std::filesystem::exists(in_folder)) settings.weights_path = in_folder.string();
  return settings;
}

bool is_whole_model(const CommonOptions& options) {
  return options.layer_option->count() == 0 && options.block_option->count() == 0;
}

}  // namespace shardlens::cli
