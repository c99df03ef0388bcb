// Plans the linear layer under its three cuts. A column cut leaves dX Partial, so f appears. A row cut leaves
// X·W Partial, so g appears. This file writes neither: the layouts do.
#include <fmt/format.h>

#include "engine/planner/modules.h"

namespace shardlens {
namespace {

Shape joined(const Shape& a, const Shape& b) {
  Shape result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

// The layout of a bias [out...] that is added to Y [tokens, out...].
Layout bias_layout(Layout y) {
  return y.kind == LayoutKind::Sharded && y.dim > 0 ? sliced_along(y, y.dim - 1) : kReplicated;
}

// dX and dW of Y = X·W + b from dY in the layout of Y (Replicated if Y is Partial).
void linear_backward(Builder& b, TensorId x, TensorId w, TensorId product, const LinearNames& names,
                     Layout dx_layout) {
  const TensorId dy = b.operand(b.gradient(product));
  const std::string dy_symbol = b.tensor(dy).symbol;
  const TensorId dx = b.gradient_tensor(x, dx_layout);
  b.step(Op::LinearGradInput, names.module + " dX",
         fmt::format("{} = {} · {}ᵀ", b.tensor(dx).symbol, dy_symbol, names.weight_symbol), {dy, w}, {dx});
  b.add_gradient(x, dx);
  std::vector<TensorId> inputs{b.whole_again(x), dy};
  Attributes attributes;
  const TensorId dw = b.weight_gradient(w, inputs, attributes, b.tensor(x).layout);
  b.step(Op::LinearGradWeight, names.module + " dW",
         fmt::format("{} = {}ᵀ · {}", b.tensor(dw).symbol, b.tensor(x).symbol, dy_symbol), inputs, {dw},
         attributes);
}

void bias_backward(Builder& b, TensorId bias, TensorId y, const LinearNames& names) {
  const TensorId dy = b.gradient(y);
  std::vector<TensorId> inputs{dy};
  Attributes attributes;
  const TensorId db = b.weight_gradient(bias, inputs, attributes, b.tensor(dy).layout);
  b.step(Op::BiasGrad, names.module + " db",
         fmt::format("{} = Σ tokens {}", b.tensor(db).symbol, b.tensor(dy).symbol), inputs, {db}, attributes);
}

}  // namespace

Layout linear_input(const Settings& settings, Cut cut) {
  if (cut == Cut::Row) return sharded(1);
  const bool by_tokens = cut == Cut::Replicated && stream_layout(settings) == sharded(0);
  return by_tokens ? sharded(0) : kReplicated;
}

TensorId linear_operand(Builder& b, TensorId x, Cut cut, Layout row_layout) {
  if (cut == Cut::Row) return b.convert(x, row_layout);
  const bool was_replicated = b.tensor(x).layout == kReplicated;
  // A whole matrix takes X in the layout of the stream. If X is already Replicated, cutting it would gain
  // nothing.
  const Layout x_layout = was_replicated ? kReplicated : linear_input(b.settings(), cut);
  return b.convert(x, x_layout, cut == Cut::Column && was_replicated ? Conjugate::F : Conjugate::None);
}

TensorId linear(Builder& b, TensorId x, const LinearNames& names, const LinearShape& shape, Cut cut,
                Layout after_row) {
  const TensorId operand = linear_operand(b, b.operand(x), cut, sliced_along(shape.slices, 1 + shape.in_cut));
  return linear_product(b, operand, names, shape, cut, after_row);
}

TensorId linear_product(Builder& b, TensorId x, const LinearNames& names, const LinearShape& shape, Cut cut,
                        Layout after_row) {
  const int in_dims = static_cast<int>(shape.in.size());
  const int64_t tokens = b.tensor(x).shape[0];
  const Shape out_shape = joined({tokens}, shape.out);
  const Layout x_layout = b.tensor(x).layout;

  if (cut == Cut::Row) {
    const TensorId w = b.weight(names.role, names.weight, names.weight_symbol, joined(shape.in, shape.out),
                                in_dims, sliced_along(shape.slices, shape.in_cut));
    const TensorId product = b.activation(names.module + ".sum", names.sum_symbol, out_shape, kPartial);
    b.set_role(product, names.out_role);
    b.step(Op::Linear, names.module,
           fmt::format("{} = {} · {}", names.sum_symbol, b.tensor(x).symbol, names.weight_symbol), {x, w},
           {product});
    b.on_backward(
        [&b, x, w, product, names, x_layout] { linear_backward(b, x, w, product, names, x_layout); });
    const Conjugate mark = after_row == kReplicated ? Conjugate::G : Conjugate::None;
    const TensorId summed = b.convert(product, after_row, mark);
    const Layout y_layout = b.tensor(summed).layout;
    const TensorId bias = b.weight(names.bias_role, names.bias, "b", shape.out, 0, bias_layout(y_layout));
    const TensorId y = b.activation(names.module + ".out", names.out_symbol, out_shape, y_layout);
    b.set_role(y, names.out_role);
    b.step(Op::BiasAdd, names.module + " bias",
           fmt::format("{} = {} + b", names.out_symbol, names.sum_symbol), {summed, bias}, {y});
    b.on_backward([&b, bias, summed, y, names] {
      bias_backward(b, bias, y, names);
      b.add_gradient(summed, b.gradient(y));  // d(z + b)/dz is the identity
    });
    return y;
  }

  const bool column = cut == Cut::Column;
  const Layout w_layout = column ? sliced_along(shape.slices, in_dims + shape.out_cut) : kReplicated;
  const Layout y_layout = column ? sliced_along(shape.slices, 1 + shape.out_cut) : x_layout;
  const TensorId w =
      b.weight(names.role, names.weight, names.weight_symbol, joined(shape.in, shape.out), in_dims, w_layout);
  const TensorId bias = b.weight(names.bias_role, names.bias, "b", shape.out, 0, bias_layout(y_layout));
  const TensorId y = b.activation(names.module + ".out", names.out_symbol, out_shape, y_layout);
  b.set_role(y, names.out_role);
  b.step(Op::Linear, names.module,
         fmt::format("{} = {} · {} + b", names.out_symbol, b.tensor(x).symbol, names.weight_symbol),
         {x, w, bias}, {y});
  b.on_backward([&b, x, w, bias, y, names, column, x_layout] {
    linear_backward(b, x, w, y, names, column ? kPartial : x_layout);
    bias_backward(b, bias, y, names);
  });
  return y;
}

}  // namespace shardlens
