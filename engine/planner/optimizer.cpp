// Plans the optimizer as steps of the Program. A rank updates the slices that it holds, and no parameter is
// sent. The ranks must agree only on the gradients' global norm. Every rank holds another slice of a cut
// gradient, so the sum of their squares is Partial. A gradient that all ranks hold is counted once, so its
// sum is Replicated. So the norm does not become T times too large.
#include <fmt/format.h>

#include "engine/planner/modules.h"

namespace shardlens {
namespace {

// The sum of squares of `gradients`, over all ranks; kNoTensor if there are none. `layout` is that of the sum
// before it is converted to Replicated.
TensorId square_sum(Builder& b, const std::vector<TensorId>& gradients, const std::string& name,
                    Layout layout) {
  if (gradients.empty()) return kNoTensor;
  const TensorId sum = b.activation(name, "Σg²", {1}, layout, DType::Fp64);
  b.step(Op::SquareSum, name, "Σg² = sum of squares of the gradients", gradients, {sum});
  return b.convert(sum, kReplicated);
}

}  // namespace

void update(Builder& b, TensorId loss_scale) {
  b.begin_update();
  b.set_layer(-1);
  b.set_part(Part::Optimizer);
  std::vector<TensorId> cut, whole;
  for (const TensorId w : b.weights()) {
    const bool is_cut = b.tensor(w).layout.kind == LayoutKind::Sharded;
    (is_cut ? cut : whole).push_back(b.newest_gradient(w));
  }
  std::vector<TensorId> sums;
  for (const TensorId sum :
       {square_sum(b, cut, "squares.sharded", kPartial),
        square_sum(b, whole, b.tp() == 1 ? "squares" : "squares.replicated", kReplicated)})
    if (sum != kNoTensor) sums.push_back(sum);
  if (loss_scale != kNoTensor) sums.push_back(loss_scale);
  const TensorId factor = b.activation("clip", "c", {2}, kReplicated, DType::Fp64);
  b.set_role(factor, Role::ClipFactor);
  b.step(Op::ClipFactor, "clip", "c = min(1, clip / √Σg²)", sums, {factor});
  b.keep(factor);
  const bool has_master = b.settings().dtype != b.wide();
  for (const TensorId w : b.weights()) {
    const std::string name = b.tensor(w).name;
    const TensorId m = b.optimizer_state(Role::FirstMoment, "adam.m." + name, "m", w);
    const TensorId v = b.optimizer_state(Role::SecondMoment, "adam.v." + name, "v", w);
    std::vector<TensorId> inputs{w, b.newest_gradient(w), m, v, factor};
    if (has_master) inputs.push_back(b.optimizer_state(Role::Master, "master." + name, "W32", w));
    const TensorId updated = b.in_place(w, "param." + name);
    Attributes attributes;
    attributes.decay = b.tensor(w).row_dims > 0;
    b.step(Op::AdamW, "adamw " + name, fmt::format("{0} ← AdamW({0}, c·d{0})", b.tensor(w).symbol), inputs,
           {updated}, attributes);
  }
}

}  // namespace shardlens
