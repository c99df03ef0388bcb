// Plans the cross-entropy of logits that are cut over the vocabulary (paper, section 3). Fused: each rank
// reduces its own columns to three numbers per token, the maximum, the label's logit and the sum of
// exponentials, and only those are reduced over the ranks. Gathered: the logits are gathered first, and every
// rank computes the whole loss. Both use the same steps; the layout of the logits decides.
#include <fmt/format.h>

#include "engine/planner/gradient_sums.h"
#include "engine/planner/modules.h"

namespace shardlens {

TensorId cross_entropy(Builder& b, Role role, TensorId logits, TensorId labels, TensorId token_weights,
                       int64_t vocab, const std::string& module, TensorId loss_scale) {
  b.set_part(Part::Loss);
  if (b.settings().split.loss == LossForm::Gather) logits = b.convert(logits, kReplicated);
  const Layout layout = b.tensor(logits).layout;
  const bool cut = layout == sharded(1);
  // If the logits are of the rank's own tokens, the numbers per token are cut in the same way, and the loss
  // is a sum over the ranks.
  const Layout tokens = layout == sharded(0) ? sharded(0) : kReplicated;
  labels = b.convert(labels, tokens);
  token_weights = b.convert(token_weights, tokens);
  const Shape per_token{b.tensor(logits).shape[0]};
  const Layout sum = cut ? kPartial : tokens;
  const std::string z = b.tensor(logits).symbol;
  Attributes attributes;
  attributes.vocab = vocab;

  TensorId m = b.activation(module + ".max", "m", per_token, cut ? kPartialMax : tokens, b.wide());
  b.set_role(m, Role::RowMaximum);
  b.step(Op::VocabMax, module + " max", fmt::format("m = max {}", z), {logits}, {m}, attributes);
  m = b.convert(m, tokens);
  TensorId t = b.activation(module + ".target", "t", per_token, sum, b.wide());
  b.set_role(t, Role::TargetLogit);
  b.step(Op::TargetLogit, module + " target", fmt::format("t = {}[label]", z), {logits, labels}, {t},
         attributes);
  t = b.convert(t, tokens);
  TensorId s = b.activation(module + ".sumexp", "s", per_token, sum, b.wide());
  b.step(Op::SumExp, module + " sum", fmt::format("s = Σ exp({} − m)", z), {logits, m}, {s}, attributes);
  s = b.convert(s, tokens);
  const TensorId loss =
      b.activation(part_value(b, module), "L", {1}, tokens == kReplicated ? kReplicated : kPartial, b.wide());
  b.set_role(loss, role);
  b.step(Op::CrossEntropy, module, "L = Σ tokens w (m + log s − t)", {m, t, s, token_weights}, {loss});

  b.on_backward([&b, logits, labels, m, s, token_weights, loss_scale, module, z, attributes] {
    const TensorId dlogits = b.gradient_over(logits);
    std::vector<TensorId> inputs{logits, labels, m, s, token_weights};
    if (loss_scale != kNoTensor) inputs.push_back(loss_scale);
    b.step(Op::CrossEntropyGrad, module + " dZ", fmt::format("d{} = w (exp({} − m) / s − onehot)", z, z),
           inputs, {dlogits}, attributes);
    b.add_gradient(logits, dlogits);
  });
  return b.convert(loss, kReplicated);
}

}  // namespace shardlens
