// Compares, for one number that is summed over the ranks, an operation on every term with the same operation
// on the sum. The terms, the bias and GeLU's operand are those of the run.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "engine/laboratory/worked_by_hand.h"
#include "engine/program/gelu.h"
#include "engine/runtime/snapshot.h"

namespace shardlens::lab {
namespace {

constexpr double kSame = 1e-9;  // of numbers that are shown with two decimals

/// The operand that an element-wise step or a collective passes on, at the same place; kNoTensor for others.
TensorId passed_on(const Program& program, const Step& step) {
  switch (step.op) {
    case Op::BiasAdd:
    case Op::Identity:
    case Op::AllReduce:
    case Op::ReduceScatter:
      return step.inputs.front();
    case Op::Gelu:
      return input_of(program, step, Operand::GeluInput);
    case Op::GeluGrad:
      return input_of(program, step, Operand::Dy);
    default:
      return kNoTensor;
  }
}

/// The Partial that the number comes from, before anything was done to its terms; kNoTensor: there is none.
TensorId first_partial(const Program& program, TensorId tensor) {
  TensorId found = kNoTensor;
  while (tensor != kNoTensor) {
    if (program.tensor(tensor).layout.kind == LayoutKind::Partial) found = tensor;
    const StepId producer = producer_of(program, tensor);
    tensor = producer < 0 ? kNoTensor : passed_on(program, program.step(producer));
  }
  return found;
}

/// The step that takes the number on, in the same phase; null: it ends here, or other numbers join it.
const Step* next_step(const Program& program, TensorId tensor) {
  const Phase phase = program.step(producer_of(program, tensor)).phase;
  for (const StepId id : consumers_of(program, tensor)) {
    const Step& step = program.step(id);
    if (step.phase == phase && passed_on(program, step) == tensor) return &step;
  }
  return nullptr;
}

/// What a rank that holds the place has there.
double held_anywhere(const HandRun& run, TensorId tensor, int64_t row, int64_t col) {
  for (const HandPiece& piece : run.of(tensor).ranks)
    if (const auto value = piece.at(row, col)) return *value;
  return 0;
}

double gelu_slope(double x) {
  const double k = std::sqrt(2 / std::numbers::pi), cubic = 0.044715;
  const double t = std::tanh(k * (x + cubic * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * cubic * x * x);
}

bool is_same(double a, double b) {
  return std::abs(a - b) < kSame;
}

std::string result_text(const std::vector<double>& shown, double result) {
  std::vector<double> all = shown;
  all.push_back(result);
  return fmt::format(" {} {}", equals(all), hand_text(result));
}

WorkedTerms bias_of_terms(double a, double b, double bias) {
  const double of_terms = a + bias + b + bias, of_sum = a + b + bias;
  return {.question = "b added to each term, or to the sum?",
          .of_terms = fmt::format("({}) + ({}){}", added_up({a, bias}), added_up({b, bias}),
                                  result_text({a, b, bias}, of_terms)),
          .of_sum = fmt::format("({}) {} {}{}", added_up({a, b}), bias < 0 ? "\u2212" : "+",
                                hand_text(std::abs(bias)), result_text({a, b, bias}, of_sum)),
          .is_same = is_same(of_terms, of_sum),
          .because = bias == 0 ? "Here b is 0, so it does not show: take another b."
                               : fmt::format("If every rank adds b, the sum has b {} times.", kHandRanks)};
}

WorkedTerms gelu_of_terms(Activation form, double a, double b, double bias) {
  const double first = a + bias, of_terms = gelu(form, first) + gelu(form, b), of_sum = gelu(form, first + b);
  const bool same = is_same(of_terms, of_sum);
  return {
      .question = "GeLU of each term, or GeLU of the sum?",
      .of_terms =
          fmt::format("GeLU({}) + GeLU({}){}", added_up(bias == 0 ? std::vector{a} : std::vector{a, bias}),
                      hand_text(b), result_text({}, of_terms)),
      .of_sum = fmt::format("GeLU({}){}", added_up(bias == 0 ? std::vector{a, b} : std::vector{a, bias, b}),
                            result_text({}, of_sum)),
      .is_same = same,
      .because = same ? "Here one term is 0, so it does not show: click another number."
                      : "GeLU is curved: the GeLU of a sum is not the sum of GeLUs. So the ranks sum first."};
}

WorkedTerms slope_of_terms(double a, double b, double h) {
  const double slope = gelu_slope(h), of_terms = a * slope + b * slope, of_sum = (a + b) * slope;
  return {
      .question = "GeLU'(H) times each term, or times the sum?",
      .of_terms = fmt::format("{}·{} + {}·{}{}", hand_text(a), in_brackets(slope), in_brackets(b),
                              in_brackets(slope), result_text({slope, a, b}, of_terms)),
      .of_sum =
          fmt::format("({})·{}{}", added_up({a, b}), in_brackets(slope), result_text({slope, a, b}, of_sum)),
      .is_same = is_same(of_terms, of_sum),
      .because = "GeLU'(H) is the same factor for both terms: multiplying by it may come before the sum."};
}

}  // namespace

std::vector<WorkedTerms> compare_terms(const HandRun& run, TensorId tensor, int64_t row, int64_t col) {
  const Program& program = run.program();
  const TensorId partial = first_partial(program, tensor);
  if (partial == kNoTensor) return {};
  const double a = run.of(partial).ranks[0].at(row, col).value_or(0),
               b = run.of(partial).ranks[1].at(row, col).value_or(0);
  std::vector<WorkedTerms> all;
  double bias = 0;
  for (const Step* step = next_step(program, partial); step != nullptr;
       step = next_step(program, step->outputs.front())) {
    if (step->op == Op::BiasAdd) {
      bias = held_anywhere(run, input_of(program, *step, Operand::Bias), 0, col);
      all.push_back(bias_of_terms(a, b, bias));
    }
    if (step->op == Op::Gelu) all.push_back(gelu_of_terms(step->attributes.activation, a, b, bias));
    if (step->op == Op::GeluGrad) {
      const TensorId h = input_of(program, *step, Operand::GeluInput);
      all.push_back(slope_of_terms(a, b, held_anywhere(run, h, row, col)));
    }
  }
  return all;
}

}  // namespace shardlens::lab
