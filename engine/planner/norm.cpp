// Plans LayerNorm and the residual sum: the parts of a layer that work on the residual stream, in the layout
// that the split gives it.
#include <fmt/format.h>

#include "engine/planner/modules.h"

namespace shardlens {

namespace {

// The tensors of a norm, for both of its forms.
struct Norm {
  TensorId x, gamma, beta, y;
  std::string module;
};

std::vector<TensorId> with_gradients(Builder& b, const Norm& norm, std::vector<TensorId>& inputs,
                                     Attributes& attributes, std::vector<TensorId> outputs) {
  const Layout layout = b.tensor(norm.x).layout;
  outputs.push_back(b.weight_gradient(norm.gamma, inputs, attributes, layout));
  outputs.push_back(b.weight_gradient(norm.beta, inputs, attributes, layout));
  return outputs;
}

std::string gradient_equation(const Builder& b, TensorId dx, TensorId dy) {
  return fmt::format("{} = LayerNorm'({})", b.tensor(dx).symbol, b.tensor(dy).symbol);
}

// The norm if every token is whole on one rank, or on all ranks.
void norm_of_whole_tokens(Builder& b, const Norm& norm, const Attributes& attributes) {
  const Tensor& x = b.tensor(norm.x);
  // If the tokens are cut over the ranks, so are their statistics.
  const TensorId stats = b.activation(norm.module + ".stats", "μ, 1/σ", {x.shape[0], 2}, x.layout, b.wide());
  b.step(Op::LayerNorm, norm.module,
         fmt::format("{} = LayerNorm({})", b.tensor(norm.y).symbol, b.tensor(norm.x).symbol),
         {norm.x, norm.gamma, norm.beta}, {norm.y, stats}, attributes);
  b.on_backward([&b, norm, stats] {
    const TensorId dy = b.gradient(norm.y);
    const TensorId dx = b.gradient_tensor(norm.x, b.tensor(norm.x).layout);
    std::vector<TensorId> inputs{norm.x, norm.gamma, stats, dy};
    Attributes gradient_attributes;
    const std::vector<TensorId> outputs = with_gradients(b, norm, inputs, gradient_attributes, {dx});
    b.step(Op::LayerNormGrad, norm.module + " dX", gradient_equation(b, dx, dy), inputs, outputs,
           gradient_attributes);
    b.add_gradient(norm.x, dx);
  });
}

// The norm if each rank holds a slice of every token. Each rank sums its slice: Σx, and Σ(x − m)² about the
// slice's own mean m. It gathers the two numbers of the other ranks, because together they give mean and
// variance as exactly as a whole token does. An all-reduce of Σx and Σx² would send less to many ranks, but
// Σx²/hidden − μ² has lost a small variance beside a large mean. The gradient needs two more sums, which are
// not subtracted from each other: an all-reduce adds them.
void norm_of_cut_tokens(Builder& b, const Norm& norm, const Attributes& attributes) {
  const std::string x_symbol = b.tensor(norm.x).symbol;
  const Shape two_a_token{b.tensor(norm.x).shape[0], 2};
  const Shape two_from_each_rank{two_a_token[0], 2 * b.tp()};
  const TensorId own =
      b.activation(norm.module + ".sums", "Σx, Σ(x−m)²", two_from_each_rank, sharded(1), b.wide());
  b.step(Op::LayerNormSums, norm.module + " sums",
         fmt::format("Σx, Σ(x−m)² of {}, over this rank's slice of hidden with its mean m", x_symbol),
         {norm.x}, {own});
  const TensorId sums = b.convert(own, kReplicated);
  const TensorId stats = b.activation(norm.module + ".stats", "μ, 1/σ", two_a_token, kReplicated, b.wide());
  b.step(Op::LayerNormApply, norm.module,
         fmt::format("{} = LayerNorm({})", b.tensor(norm.y).symbol, x_symbol),
         {norm.x, norm.gamma, norm.beta, sums}, {norm.y, stats}, attributes);
  b.on_backward([&b, norm, stats, two_a_token] {
    const TensorId dy = b.gradient(norm.y);
    const TensorId dterms =
        b.activation("grad." + norm.module + ".sums", "Σg, Σg·x̂", two_a_token, kPartial, b.wide());
    std::vector<TensorId> inputs{norm.x, norm.gamma, stats, dy};
    Attributes sum_attributes;
    const std::vector<TensorId> outputs = with_gradients(b, norm, inputs, sum_attributes, {dterms});
    b.step(Op::LayerNormGradSums, norm.module + " dX sums",
           fmt::format("Σg, Σg·x̂ with g = γ∘{}, over this rank's slice of hidden", b.tensor(dy).symbol),
           inputs, outputs, sum_attributes);
    const TensorId dsums = b.convert(dterms, kReplicated);
    const TensorId dx = b.gradient_tensor(norm.x, b.tensor(norm.x).layout);
    b.step(Op::LayerNormGradApply, norm.module + " dX", gradient_equation(b, dx, dy),
           {norm.x, norm.gamma, stats, dy, dsums}, {dx});
    b.add_gradient(norm.x, dx);
  });
}

}  // namespace

TensorId layer_norm(Builder& b, TensorId x, const std::string& module, const std::string& parameters,
                    const std::string& symbol) {
  b.set_part(Part::Norm);
  x = b.convert(x, stream_layout(b.settings()));
  const Layout layout = b.tensor(x).layout;
  const int64_t hidden = b.tensor(x).shape.back();
  const Layout of_hidden = layout == sharded(1) ? sharded(0) : kReplicated;
  Attributes attributes;
  attributes.epsilon = b.settings().model.norm_epsilon;
  Norm norm{};
  norm.x = x;
  norm.module = module;
  norm.gamma =
      b.weight(Role::NormGain, parameter_name(b, parameters + ".weight"), "γ", {hidden}, 0, of_hidden);
  norm.beta = b.weight(Role::NormShift, parameter_name(b, parameters + ".bias"), "β", {hidden}, 0, of_hidden);
  norm.y = b.activation(module + ".out", symbol, b.tensor(x).shape, layout);
  layout == sharded(1) ? norm_of_cut_tokens(b, norm, attributes) : norm_of_whole_tokens(b, norm, attributes);
  return norm.y;
}

TensorId residual(Builder& b, TensorId x, TensorId y, const std::string& value, const std::string& symbol) {
  b.set_part(Part::Residual);
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
