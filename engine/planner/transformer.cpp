// Plans one transformer layer, pre-LN (GPT-2, and the BERT of the paper's Figure 7b) or post-LN (the first
// BERT), and maps its parameters to their names in a checkpoint.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "engine/config/forms.h"
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
  struct Module {
    std::string_view name;
    const char* StoredModules::*stored;
  };
  static constexpr Module kModules[] = {{"ln1", &StoredModules::norm1},
                                        {"attn.qkv", &StoredModules::qkv},
                                        {"attn.q", &StoredModules::query},
                                        {"attn.kv", &StoredModules::key_value},
                                        {"attn.proj", &StoredModules::attention_out},
                                        {"ln2", &StoredModules::norm2},
                                        {"mlp.fc", &StoredModules::mlp_in},
                                        {"mlp.proj", &StoredModules::mlp_out}};
  const size_t dot = parameter.rfind('.');
  const std::string_view module = std::string_view(parameter).substr(0, dot);
  const auto* const found = std::ranges::find(kModules, module, &Module::name);
  if (found == std::end(kModules)) return parameter;
  const ModelForm& form = form_of(b.settings().model);
  return fmt::format("{}.{}.{}{}", form.layers, b.layer(), form.modules.*found->stored,
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
