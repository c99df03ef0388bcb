// Plans the MLP block: Y = GeLU(X·Wfc + b)·Wproj + b (paper, section 3, Figure 3a), and GeLU itself.
#include <fmt/format.h>

#include "engine/planner/modules.h"

namespace shardlens {

TensorId gelu(Builder& b, TensorId x, const std::string& value, const std::string& symbol) {
  if (b.tensor(x).layout.kind == LayoutKind::Partial) x = b.convert(x, kReplicated, Conjugate::G);
  Attributes attributes;
  attributes.activation = b.settings().model.activation;
  const TensorId y = b.activation(value, symbol, b.tensor(x).shape, b.tensor(x).layout);
  b.step(Op::Gelu, value, fmt::format("{} = GeLU({})", symbol, b.tensor(x).symbol), {x}, {y}, attributes);
  b.on_backward([&b, x, y, value, attributes] {
    const TensorId dy = b.gradient(y);
    const TensorId dx = b.gradient_tensor(x, b.tensor(dy).layout);
    b.step(Op::GeluGrad, value + " dX",
           fmt::format("{} = {} ∘ GeLU'({})", b.tensor(dx).symbol, b.tensor(dy).symbol, b.tensor(x).symbol),
           {x, dy}, {dx}, attributes);
    b.add_gradient(x, dx);
  });
  return y;
}

TensorId mlp(Builder& b, TensorId x, const std::string& out_symbol) {
  const Model& model = b.settings().model;
  const Split& split = b.settings().split;
  b.set_part(Part::Mlp);
  const LinearNames fc{"mlp.fc",
                       parameter_name(b, "mlp.fc.weight"),
                       parameter_name(b, "mlp.fc.bias"),
                       "Wfc",
                       "H'",
                       "H",
                       Role::MlpIn,
                       Role::MlpInBias};
  const LinearNames proj{"mlp.proj",
                         parameter_name(b, "mlp.proj.weight"),
                         parameter_name(b, "mlp.proj.bias"),
                         "Wproj",
                         "Z",
                         out_symbol,
                         Role::MlpOut,
                         Role::MlpOutBias};
  // The sum of a row cut can be scattered or replicated; it is converted directly to what the next product
  // reads.
  const Layout between = linear_input(b.settings(), split.mlp_proj);
  const Layout stream = stream_layout(b.settings());
  const TensorId h = linear(b, x, fc, {{model.hidden}, {model.ffn}, 0, 0}, split.mlp_fc, between);
  const TensorId g = gelu(b, h, "mlp.gelu", "G");
  const TensorId y = linear(b, g, proj, {{model.ffn}, {model.hidden}, 0, 0}, split.mlp_proj, stream);
  return b.convert(y, stream);
}

}  // namespace shardlens
