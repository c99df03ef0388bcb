// Names every setting that differs: see difference.h.
#include "ui/settings/difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <vector>

#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "ui/panels/setup/delays.h"
#include "ui/panels/setup/setup.h"

namespace shardlens::ui {
namespace {

using Parts = std::vector<std::string>;

std::string block_words(Block block) {
  const bool named = block == Block::Model || block == Block::Mlp;
  return (named ? "the " : "") + block_title(block);
}

std::string file_words(const char* what, const std::string& path, const char* none) {
  return path.empty() ? none : fmt::format("{} {}", what, std::filesystem::path(path).filename().string());
}

/// A preset is named. Of a model of a person's own, the sizes are.
void add_model(const Model& of, const Model& from, Parts& parts) {
  if (of == from) return;
  if (of.title != from.title && of.title != "custom") return parts.push_back(of.title);
  const size_t before = parts.size();
  const auto add = [&](const char* what, int64_t value, int64_t other) {
    if (value != other) parts.push_back(fmt::format("{} {}", what, value));
  };
  add("hidden", of.hidden, from.hidden);
  if (of.heads != from.heads) parts.push_back(counted(of.heads, "head"));
  if (of.key_heads() != from.key_heads()) parts.push_back(counted(of.key_heads(), "key head"));
  add("MLP width", of.ffn, from.ffn);
  if (of.layers != from.layers) parts.push_back(counted(of.layers, "layer"));
  add("vocabulary", of.vocab, from.vocab);
  add("positions", of.positions, from.positions);
  if (of.norm != from.norm) parts.push_back(of.norm == NormPlacement::Pre ? "pre-LN" : "post-LN");
  if (of.tied != from.tied) parts.push_back(of.tied ? "a tied output matrix" : "an output matrix of its own");
  if (parts.size() == before) parts.push_back("another model " + of.title);
}

void add_split(const Split& of, const Split& from, Parts& parts) {
  if (of == from) return;
  if (of.name != from.name && of.name != "custom") return parts.push_back("split " + of.name);
  const size_t before = parts.size();
  const auto add = [&](const char* what, auto value, auto other) {
    if (value != other) parts.push_back(fmt::format("{} by {}", what, to_string(value)));
  };
  add("attn.qkv", of.attn_qkv, from.attn_qkv);
  add("attn.proj", of.attn_proj, from.attn_proj);
  add("mlp.fc", of.mlp_fc, from.mlp_fc);
  add("mlp.proj", of.mlp_proj, from.mlp_proj);
  add("embedding", of.embedding, from.embedding);
  add("stream", of.norm, from.norm);
  add("loss", of.loss, from.loss);
  if (parts.size() == before) parts.push_back("split " + of.name);
}

void add_run(const Settings& of, const Settings& from, Parts& parts) {
  if (of.dtype != from.dtype) parts.push_back(to_string(of.dtype));
  if (of.batch != from.batch) parts.push_back(fmt::format("batch {}", of.batch));
  if (of.seq != from.seq) parts.push_back(fmt::format("sequence {}", of.seq));
  if (of.operands != from.operands)
    parts.push_back(of.operands == Operands::Integer ? "integer values" : "normal values");
  if (of.input != from.input)
    parts.push_back(of.input.kind == InputKind::Normal
                        ? "seeded input"
                        : file_words("input", of.input.path, "input from a file"));
  if (of.weights_path != from.weights_path)
    parts.push_back(file_words("weights", of.weights_path, "seeded weights"));
  if (of.seed != from.seed) parts.push_back(fmt::format("seed {}", of.seed));
  if (of.micro_batches != from.micro_batches)
    parts.push_back(counted(of.micro_batches, "micro-batch", "micro-batches"));
  if (of.recompute != from.recompute) parts.push_back("recompute " + to_string(of.recompute));
  if (of.overlap_chunks != from.overlap_chunks)
    parts.push_back(fmt::format("products reduced in {}", counted(of.overlap_chunks, "part", "parts")));
  if (of.fusion != from.fusion) parts.push_back("fused steps " + to_string(of.fusion));
  if (of.dropout != from.dropout) parts.push_back(fmt::format("dropout {}", of.dropout));
  if (of.update != from.update) parts.push_back(of.update ? "with the optimizer" : "without the optimizer");
  if (of.cache_tokens != from.cache_tokens)
    parts.push_back(of.cache_tokens == 0 ? "no cache" : fmt::format("a cache of {} tokens", of.cache_tokens));
  if (of.optimizer != from.optimizer) parts.push_back("another optimizer");
  if (of.vocab_ranks != from.vocab_ranks)
    parts.push_back(fmt::format("a vocabulary padded for {} ranks", of.vocab_ranks));
}

void add_machine(const Settings& of, const Settings& from, Parts& parts) {
  if (of.backend != from.backend) parts.push_back(to_string(of.backend));
  if (of.gpus != from.gpus)
    parts.push_back(of.gpus.empty() ? "all GPUs" : fmt::format("GPUs {}", gpus_text(of.gpus)));
  if (of.communicator != from.communicator) parts.push_back("communicator " + to_string(of.communicator));
  if (of.tf32 != from.tf32) parts.push_back(of.tf32 ? "products in TF32" : "products in fp32");
  if (of.threads_per_rank != from.threads_per_rank)
    parts.push_back(of.threads_per_rank == 0 ? "an equal share of the cores for each rank"
                                             : counted(of.threads_per_rank, "thread") + " a rank");
  if (of.hardware != from.hardware) parts.push_back(fmt::format("hardware {}", of.hardware));
  if (of.delays != from.delays) parts.push_back("with " + delays_phrase(of));
  if (of.timeout_seconds != from.timeout_seconds)
    parts.push_back(of.timeout_seconds == 0 ? "ranks that wait for ever"
                                            : fmt::format("ranks lost after {} s", of.timeout_seconds));
}

}  // namespace

std::string difference(const Settings& of, const Settings& from) {
  Parts parts;
  add_model(of.model, from.model, parts);
  if (of.block != from.block) parts.push_back(block_words(of.block));
  if (of.layer != from.layer) parts.push_back(fmt::format("layer {}", of.layer));
  if (of.tp != from.tp) parts.push_back(fmt::format("T = {}", of.tp));
  if (of.dp != from.dp) parts.push_back(fmt::format("D = {}", of.dp));
  if (of.heads_policy != from.heads_policy) parts.push_back("heads policy " + to_string(of.heads_policy));
  add_split(of.split, from.split, parts);
  add_run(of, from, parts);
  add_machine(of, from, parts);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace shardlens::ui
