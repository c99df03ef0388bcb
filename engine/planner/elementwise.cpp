// Plans the small modules of a whole model that compute element by element or pick rows: dropout, tanh, first
// tokens.
#include <fmt/format.h>

#include "engine/planner/modules.h"

namespace shardlens {

TensorId dropout(Builder& b, TensorId x, const std::string& value, const std::string& symbol) {
  if (b.settings().dropout == 0) return x;
  Attributes attributes;
  attributes.dropout = b.settings().dropout;
  attributes.stream = b.in_layer(value);
  attributes.part = b.micro_batch();
  const TensorId y = b.activation(value, symbol, b.tensor(x).shape, b.tensor(x).layout);
  b.step(Op::Dropout, value, fmt::format("{} = dropout({})", symbol, b.tensor(x).symbol), {x}, {y},
         attributes);
  b.on_backward([&b, x, y, value, attributes] {
    const TensorId dy = b.gradient(y);
    const TensorId dx = b.gradient_tensor(x, b.tensor(dy).layout);
    b.step(Op::Dropout, value + " dX",
           fmt::format("{} = {} ∘ mask / (1 − p)", b.tensor(dx).symbol, b.tensor(dy).symbol), {dy}, {dx},
           attributes);
    b.add_gradient(x, dx);
  });
  return y;
}

TensorId tanh(Builder& b, TensorId x, const std::string& value, const std::string& symbol) {
  const TensorId y = b.activation(value, symbol, b.tensor(x).shape, b.tensor(x).layout);
  b.step(Op::Tanh, value, fmt::format("{} = tanh({})", symbol, b.tensor(x).symbol), {x}, {y});
  b.on_backward([&b, x, y, value] {
    const TensorId dy = b.gradient(y);
    const TensorId dx = b.gradient_tensor(x, b.tensor(dy).layout);
    const std::string& y_symbol = b.tensor(y).symbol;
    b.step(Op::TanhGrad, value + " dX",
           fmt::format("{} = {} ∘ (1 − {}²)", b.tensor(dx).symbol, b.tensor(dy).symbol, y_symbol), {y, dy},
           {dx});
    b.add_gradient(x, dx);
  });
  return y;
}

TensorId first_token(Builder& b, TensorId x, const std::string& value, const std::string& symbol) {
  Attributes attributes;
  attributes.batch = b.settings().micro_batch();
  x = b.convert(x, kReplicated);
  const TensorId y = b.activation(value, symbol, {attributes.batch, b.tensor(x).shape[1]}, kReplicated);
  b.step(Op::FirstToken, value, fmt::format("{} = {}[first tokens]", symbol, b.tensor(x).symbol), {x}, {y},
         attributes);
  b.on_backward([&b, x, y, value, attributes] {
    const TensorId dy = b.gradient(y);
    const TensorId dx = b.gradient_tensor(x, kReplicated);
    b.step(Op::FirstTokenGrad, value + " dX",
           fmt::format("{}[first tokens] = {}", b.tensor(dx).symbol, b.tensor(dy).symbol), {dy}, {dx},
           attributes);
    b.add_gradient(x, dx);
  });
  return y;
}

}  // namespace shardlens
