// LayerNorm and the residual sum: the parts of a layer that every rank does whole.
#include <fmt/format.h>

#include "engine/planner/modules.h"

namespace shardlens {

TensorId layer_norm(Builder& b, TensorId x, const std::string& module, const std::string& parameters,
                    const std::string& symbol) {
  b.set_block("norm");
  x = b.convert(x, kReplicated);
  const int64_t hidden = b.tensor(x).shape.back();
  Attributes attributes;
  attributes.epsilon = b.settings().model.norm_epsilon;
  const TensorId gamma = b.weight(parameter_name(b, parameters + ".weight"), "γ", {hidden}, 0, kReplicated);
  const TensorId beta = b.weight(parameter_name(b, parameters + ".bias"), "β", {hidden}, 0, kReplicated);
  const TensorId y = b.activation(module + ".out", symbol, b.tensor(x).shape, kReplicated);
  const TensorId stats =
      b.activation(module + ".stats", "μ, 1/σ", {b.tensor(x).shape[0], 2}, kReplicated, b.wide());
  b.step(Op::LayerNorm, module, fmt::format("{} = LayerNorm({})", symbol, b.tensor(x).symbol),
         {x, gamma, beta}, {y, stats}, attributes);
  b.on_backward([&b, x, y, gamma, beta, stats, module] {
    const TensorId dy = b.gradient(y);
    const TensorId dx = b.gradient_tensor(x, kReplicated);
    std::vector<TensorId> inputs{x, gamma, stats, dy};
    Attributes gradient_attributes;
    const TensorId dgamma = b.weight_gradient(gamma, inputs, gradient_attributes);
    const TensorId dbeta = b.weight_gradient(beta, inputs, gradient_attributes);
    b.step(Op::LayerNormGrad, module + " dX",
           fmt::format("{} = LayerNorm'({})", b.tensor(dx).symbol, b.tensor(dy).symbol), inputs,
           {dx, dgamma, dbeta}, gradient_attributes);
    b.add_gradient(x, dx);
  });
  return y;
}

TensorId residual(Builder& b, TensorId x, TensorId y, const std::string& value, const std::string& symbol) {
  b.set_block("residual");
  y = b.convert(y, b.tensor(x).layout);
  const TensorId sum = b.activation(value, symbol, b.tensor(x).shape, b.tensor(x).layout);
  b.step(Op::Add, value, fmt::format("{} = {} + {}", symbol, b.tensor(x).symbol, b.tensor(y).symbol), {x, y},
         {sum});
  b.on_backward([&b, x, y, sum] {
    const TensorId d = b.gradient(sum);  // the gradient of a sum goes to both terms
    b.add_gradient(x, d);
    b.add_gradient(y, d);
  });
  return sum;
}

}  // namespace shardlens
