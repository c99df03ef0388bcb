// Plans one transformer layer, pre-LN (GPT-2, and the BERT of the paper's Figure 7b) or post-LN (the first
// BERT), and maps its parameters to their names in a checkpoint.
#include <fmt/format.h>

#include <map>

#include "engine/planner/modules.h"

namespace shardlens {

Layout stream_layout(const Settings& settings) {
  switch (settings.split.norm) {
    case NormCut::Parallel:
      return sharded(1);
    case NormCut::Sequence:
      return sharded(0);
    case NormCut::Replicated:
      break;
  }
  return kReplicated;
}

std::string parameter_name(const Builder& b, const std::string& parameter) {
  // The names of the same places in GPT-2, in BERT, and in the BERT with LayerNorm first (Hugging Face's
  // megatron-bert). BERT keeps query, key and value apart; here they are one matrix.
  struct Words {
    const char *gpt, *bert, *pre_norm_bert;
  };
  static const std::map<std::string, Words> names = {
      {"ln1", {"ln_1", "attention.output.LayerNorm", "attention.ln"}},
      {"attn.qkv", {"attn.c_attn", "attention.self.qkv", "attention.self.qkv"}},
      {"attn.q", {"attn.c_attn.q", "attention.self.query", "attention.self.query"}},
      {"attn.kv", {"attn.c_attn.kv", "attention.self.kv", "attention.self.kv"}},
      {"attn.proj", {"attn.c_proj", "attention.output.dense", "attention.output.dense"}},
      {"ln2", {"ln_2", "output.LayerNorm", "ln"}},
      {"mlp.fc", {"mlp.c_fc", "intermediate.dense", "intermediate.dense"}},
      {"mlp.proj", {"mlp.c_proj", "output.dense", "output.dense"}},
  };
  const size_t dot = parameter.rfind('.');
  const auto found = names.find(parameter.substr(0, dot));
  if (found == names.end()) return parameter;
  const Model& model = b.settings().model;
  const bool is_gpt = model.architecture == Architecture::Gpt;
  const Words& words = found->second;
  return fmt::format("{}.{}.{}{}", is_gpt ? "transformer.h" : "bert.encoder.layer", b.layer(),
                     is_gpt                             ? words.gpt
                     : model.norm == NormPlacement::Pre ? words.pre_norm_bert
                                                        : words.bert,
                     parameter.substr(dot));
}

namespace {

// x + block(LN(x)), twice.
TensorId pre_norm_layer(Builder& b, TensorId x, const Visibility& visible) {
  const TensorId u = layer_norm(b, x, "ln1", "ln1", "U");
  const TensorId a = dropout(b, attention(b, u, "A", visible), "attn.dropped", "A'");
  const TensorId r = residual(b, x, a, "attn.residual", "R");
  const TensorId n = layer_norm(b, r, "ln2", "ln2", "N");  // V is attention's values
  const TensorId m = dropout(b, mlp(b, n, "M"), "mlp.dropped", "M'");
  return residual(b, r, m, "Y", "Y");
}

// LN(x + block(x)), twice.
TensorId post_norm_layer(Builder& b, TensorId x, const Visibility& visible) {
  const TensorId a = dropout(b, attention(b, x, "A", visible), "attn.dropped", "A'");
  const TensorId r = residual(b, x, a, "attn.residual", "R");
  const TensorId u = layer_norm(b, r, "ln1", "ln1", "U");
  const TensorId m = dropout(b, mlp(b, u, "M"), "mlp.dropped", "M'");
  const TensorId s = residual(b, u, m, "mlp.residual", "S");
  return layer_norm(b, s, "ln2", "ln2", "Y");
}

}  // namespace

TensorId transformer_layer(Builder& b, TensorId x, const Visibility& visible) {
  return b.settings().model.norm == NormPlacement::Pre ? pre_norm_layer(b, x, visible)
                                                       : post_norm_layer(b, x, visible);
}

}  // namespace shardlens
