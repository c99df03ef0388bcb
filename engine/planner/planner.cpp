// One transformer layer, or a block of it, as a Program.
#include "engine/planner/planner.h"

#include <fmt/format.h>

#include <map>

#include "engine/config/validate.h"
#include "engine/planner/modules.h"

namespace shardlens {

std::string parameter_name(const Settings& settings, const std::string& parameter) {
  // GPT-2's and BERT's own words for the same places. BERT keeps query, key and value apart; here they are
  // one matrix.
  static const std::map<std::string, std::pair<std::string, std::string>> names = {
      {"ln1", {"ln_1", "attention.output.LayerNorm"}},
      {"attn.qkv", {"attn.c_attn", "attention.self.qkv"}},
      {"attn.proj", {"attn.c_proj", "attention.output.dense"}},
      {"ln2", {"ln_2", "output.LayerNorm"}},
      {"mlp.fc", {"mlp.c_fc", "intermediate.dense"}},
      {"mlp.proj", {"mlp.c_proj", "output.dense"}},
  };
  const size_t dot = parameter.rfind('.');
  const auto& [gpt, bert] = names.at(parameter.substr(0, dot));
  const bool is_gpt = settings.model.architecture == Architecture::Gpt;
  return fmt::format("{}.{}.{}{}", is_gpt ? "transformer.h" : "bert.encoder.layer", settings.layer,
                     is_gpt ? gpt : bert, parameter.substr(dot));
}

namespace {

// x + block(LN(x)), twice (GPT-2).
TensorId pre_norm_layer(Builder& b, TensorId x) {
  const TensorId u = layer_norm(b, x, "ln1", "ln1", "U");
  const TensorId a = attention(b, u, "A");
  const TensorId r = residual(b, x, a, "attn.residual", "R");
  const TensorId v = layer_norm(b, r, "ln2", "ln2", "V");
  const TensorId m = mlp(b, v, "M");
  return residual(b, r, m, "Y", "Y");
}

// LN(x + block(x)), twice (BERT).
TensorId post_norm_layer(Builder& b, TensorId x) {
  const TensorId a = attention(b, x, "A");
  const TensorId r = residual(b, x, a, "attn.residual", "R");
  const TensorId u = layer_norm(b, r, "ln1", "ln1", "U");
  const TensorId m = mlp(b, u, "M");
  const TensorId s = residual(b, u, m, "mlp.residual", "S");
  return layer_norm(b, s, "ln2", "ln2", "Y");
}

TensorId block_output(Builder& b, TensorId x) {
  switch (b.settings().block) {
    case Block::Mlp:
      return mlp(b, x, "Y");
    case Block::Attention:
      return attention(b, x, "Y");
    case Block::Layer:
      break;
  }
  return b.settings().model.norm == NormPlacement::Pre ? pre_norm_layer(b, x) : post_norm_layer(b, x);
}

}  // namespace

Program plan_program(const Settings& settings) {
  validate(settings);
  Builder b(settings);
  const Shape shape{settings.tokens(), settings.model.hidden};
  const TensorId x = b.input("X", "X", shape);
  const TensorId y = block_output(b, x);
  const TensorId dy = b.input("grad.Y", "dY", shape);
  return b.finish(x, y, dy);
}

Program plan_serial(Settings settings) {
  settings.tp = 1;
  return plan_program(settings);
}

}  // namespace shardlens
