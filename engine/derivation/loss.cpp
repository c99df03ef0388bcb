// Derives the cross-entropy: three numbers a token, the loss, and its gradient.
#include <fmt/format.h>

#include <string>

#include "engine/derivation/deriver.h"

namespace shardlens::formulas {
namespace {

/// One 1 in each row, at the label.
Math one_hot(const Deriver& d, TensorId logits) {
  return d.named("I", logits);
}

std::string words_remark(const Deriver& d, TensorId logits) {
  const int64_t padding = shape_of(d.program(), d.whole(logits), 0).cols - d.step().attributes.vocab;
  const std::string remark = fmt::format("of each token, over {} words", d.step().attributes.vocab);
  return padding > 0 ? remark + fmt::format("; {} columns are padding", padding) : remark;
}

Math exponentials(const Deriver& d, TensorId logits) {
  return function("exp", {difference(d.whole(logits), d.whole(d.in(Operand::Max)))});
}

Math loss_of_tokens(const Deriver& d) {
  return entrywise(
      {d.whole(d.in(Operand::TokenWeights)),
       difference(sum({d.whole(d.in(Operand::Max)), function("log", {d.whole(d.in(Operand::SumExp))})}),
                  d.whole(d.in(Operand::Target)))});
}

void derive_loss_value(Deriver& d) {
  const Math loss = d.whole(d.out(Operand::Loss));
  const Math target = d.whole(d.in(Operand::Target)), largest = d.whole(d.in(Operand::Max));
  const Math probability =
      quotient(function("exp", {difference(target, largest)}), d.whole(d.in(Operand::SumExp)));
  const Math surprise = entrywise({d.whole(d.in(Operand::TokenWeights)), function("log", {probability})});
  d.line(loss, negated(sum_over_all("tokens", surprise)),
         "−log of each label's probability, times the token's weight w");
  d.with_ranks(loss, sum_over_all("tokens", loss_of_tokens(d)),
               {.first = fmt::format("the same by three numbers a token, {} tokens",
                                     shape_of(d.program(), target, 0).rows),
                .each = "rank r: its own tokens"});
}

void derive_loss_gradient(Deriver& d) {
  const TensorId logits = d.in(Operand::Logits);
  const Math dz = d.whole(d.out(Operand::LogitsGrad)), weights = d.whole(d.in(Operand::TokenWeights));
  const Math inner =
      difference(quotient(exponentials(d, logits), d.whole(d.in(Operand::SumExp))), one_hot(d, logits));
  std::vector<Math> factors{weights, inner};
  if (d.has(Operand::LossScale)) factors.insert(factors.begin(), d.whole(d.in(Operand::LossScale)));
  d.line(d.derivative(dz.tensor),
         entrywise({weights, difference(function("softmax", {d.whole(logits)}), one_hot(d, logits))}),
         "softmax minus one-hot: I has one 1 in each row, at the label");
  d.with_ranks(
      dz, entrywise(factors),
      {.first = d.has(Operand::LossScale) ? "S scales the loss, so that small gradients keep their bits"
                                          : "softmax by the largest and the sum of each token",
       .each = "rank r: its own elements, nothing is sent"});
}

}  // namespace

void derive_loss(Deriver& d) {
  const TensorId logits = d.in(Operand::Logits);
  const auto reduced = [&](Operand result, const Math& right, const std::string& what) {
    const Math left = d.whole(d.out(result));
    d.with_ranks(left, right,
                 {.first = what,
                  .each = d.is_terms(left) ? "rank r: over its own columns of the vocabulary"
                                           : "rank r: of its own tokens"});
  };
  switch (d.step().op) {
    case Op::VocabMax:
      return reduced(Operand::Max, largest_of_columns("words", d.whole(logits)), words_remark(d, logits));
    case Op::TargetLogit:
      return reduced(Operand::Target,
                     sum_over_columns("words", entrywise({one_hot(d, logits), d.whole(logits)})),
                     "I has one 1 in each row, at the label: it picks the label's logit");
    case Op::SumExp:
      return reduced(Operand::SumExp, sum_over_columns("words", exponentials(d, logits)),
                     words_remark(d, logits));
    case Op::CrossEntropy:
      return derive_loss_value(d);
    default:
      return derive_loss_gradient(d);
  }
}

}  // namespace shardlens::formulas
