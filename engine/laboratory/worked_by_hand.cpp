// Writes out how every rank made one number of the example "by hand".
#include "engine/laboratory/worked_by_hand.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/program/product.h"
#include "engine/runtime/snapshot.h"

namespace shardlens::lab {
namespace {

constexpr const char* kMinus = "\u2212";

/// The collective that an identity stands in place of, because a mistake leaves it out.
Collective needed_by(const Program& program, const Step& step) {
  return conversion(program.tensor(step.inputs[0]).layout, program.tensor(step.outputs[0]).layout);
}

bool is_whole(double value) {
  return std::abs(value - std::round(value)) < 1e-9;
}

/// What `rank` holds at a place, as far as it holds it.
double held(const HandRun& run, TensorId tensor, int rank, int64_t row, int64_t col) {
  return run.of(tensor).ranks[static_cast<size_t>(rank)].at(row, col).value_or(0);
}

/// A row of a bias has no rows: all rows of the other operand get the same number.
double bias_at(const HandRun& run, TensorId bias, int rank, int64_t col) {
  return held(run, bias, rank, 0, col);
}

std::string product_sum(const HandRun& run, const Product& product, int rank, int64_t row, int64_t col,
                        double result) {
  std::string sum;
  std::vector<double> shown{result};
  for (const Range& range : pairs_of(run.program(), product, rank, row, col))
    for (int64_t k = range.begin; k < range.end; ++k) {
      const double a =
          product.a_turned ? held(run, product.a, rank, k, row) : held(run, product.a, rank, row, k);
      const double b =
          product.b_turned ? held(run, product.b, rank, col, k) : held(run, product.b, rank, k, col);
      if (!sum.empty()) sum += " + ";
      sum += fmt::format("{}·{}", sum.empty() ? hand_text(a) : in_brackets(a), in_brackets(b));
      shown.insert(shown.end(), {a, b});
    }
  if (product.bias != kNoTensor) {
    const double b = bias_at(run, product.bias, rank, col);
    sum += fmt::format(" {} {}", b < 0 ? kMinus : "+", hand_text(std::abs(b)));
    shown.push_back(b);
  }
  return fmt::format("{} {} {}", sum, equals(shown), hand_text(result));
}

std::string added(const std::vector<double>& terms, double result) {
  std::vector<double> shown = terms;
  shown.push_back(result);
  return fmt::format("{} {} {}", added_up(terms), equals(shown), hand_text(result));
}

/// How `rank` made its number, in a step that is no collective.
std::string sum_on_rank(const HandRun& run, const Step& step, int rank, int64_t row, int64_t col,
                        double result) {
  const Program& program = run.program();
  if (const auto product = product_of(program, step.id))
    return product_sum(run, *product, rank, row, col, result);
  const TensorId x = step.inputs.front();
  switch (step.op) {
    case Op::BiasAdd: {
      if (step.attributes.one_rank && rank != 0)
        return fmt::format("{}, without b: rank 0 alone adds it", hand_text(result));
      return added(
          {held(run, x, rank, row, col), bias_at(run, input_of(program, step, Operand::Bias), rank, col)},
          result);
    }
    case Op::Gelu: {
      const double h = held(run, x, rank, row, col);
      return fmt::format("GeLU({}) {} {}", hand_text(h), equals({h, result}), hand_text(result));
    }
    case Op::GeluGrad: {
      const double dy = held(run, input_of(program, step, Operand::Dy), rank, row, col),
                   h = held(run, input_of(program, step, Operand::GeluInput), rank, row, col);
      return fmt::format("{}·GeLU'({}) {} {}", hand_text(dy), hand_text(h), equals({dy, h, result}),
                         hand_text(result));
    }
    case Op::BiasGrad: {
      const TensorId dy = input_of(program, step, Operand::Dy);
      std::vector<double> terms;
      for (int64_t token = 0; token < matrix_shape(program.tensor(dy)).rows; ++token)
        if (const auto value = run.of(dy).ranks[static_cast<size_t>(rank)].at(token, col))
          terms.push_back(*value);
      return added(terms, result);
    }
    case Op::Identity: {
      const bool left_out = needed_by(program, step) != Collective::None;
      return fmt::format("{}, as it was{}", hand_text(result), left_out ? ": the terms are not summed" : "");
    }
    case Op::Slice:
      return fmt::format("{}, cut from the rank's own copy", hand_text(result));
    default:
      return hand_text(result);
  }
}

/// The tensor that a collective makes `tensor` from.
TensorId source_of(const Step& step, TensorId tensor) {
  const auto at = std::find(step.outputs.begin(), step.outputs.end(), tensor) - step.outputs.begin();
  return step.inputs[static_cast<size_t>(std::min<ptrdiff_t>(at, std::ssize(step.inputs) - 1))];
}

/// A line whose result is what `rank` holds, or the sum of a Partial.
void add_result(const HandRun& run, TensorId tensor, int rank, int64_t row, int64_t col, WorkedLine line,
                Worked& worked) {
  line.is_wrong = run.is_wrong(tensor, rank, row, col);
  if (line.is_wrong) line.wrong_by = *run.value(tensor, rank, row, col) - run.serial(tensor, row, col);
  worked.lines.push_back(std::move(line));
}

std::string rank_words(int rank) {
  return fmt::format("rank {}", rank);
}

void work_out_collective(const HandRun& run, const Step& step, TensorId tensor, int64_t row, int64_t col,
                         Worked& worked) {
  const TensorId source = source_of(step, tensor);
  const bool adds = step.op == Op::AllReduce || step.op == Op::ReduceScatter;
  std::vector<double> terms;
  for (int rank = 0; rank < kHandRanks; ++rank) {
    const auto sent = run.of(source).ranks[static_cast<size_t>(rank)].at(row, col);
    if (!sent) continue;
    terms.push_back(*sent);
    worked.lines.push_back({.rank = rank,
                            .words = rank_words(rank),
                            .sum = (adds ? "its term is " : "sends its ") + hand_text(*sent)});
  }
  std::string holders;
  std::optional<double> result;
  int holder = 0;
  for (int rank = 0; rank < kHandRanks; ++rank) {
    const auto has = run.of(tensor).ranks[static_cast<size_t>(rank)].at(row, col);
    if (!has) continue;
    holders = holders.empty() ? rank_words(rank) : "both";
    result = has;
    holder = rank;
  }
  if (!result) return;
  add_result(run, tensor, holder, row, col,
             {.words = "then " + holders, .sum = adds ? added(terms, *result) : hand_text(*result)}, worked);
}

void add_sum_of_terms(const HandRun& run, TensorId tensor, int64_t row, int64_t col, Worked& worked) {
  std::vector<double> terms;
  for (int rank = 0; rank < kHandRanks; ++rank) terms.push_back(held(run, tensor, rank, row, col));
  add_result(run, tensor, 0, row, col,
             {.words = "summed", .sum = added(terms, *run.value(tensor, 0, row, col))}, worked);
}

/// What `rank` uses for its number.
void add_reads(const HandRun& run, const Step& step, int rank, int64_t row, int64_t col,
               std::vector<HandRead>& reads) {
  const Program& program = run.program();
  const auto add = [&](TensorId tensor, int64_t r, int64_t c) {
    if (run.of(tensor).ranks[static_cast<size_t>(rank)].at(r, c)) reads.push_back({tensor, rank, r, c});
  };
  if (const auto product = product_of(program, step.id)) {
    for (const Range& range : pairs_of(program, *product, rank, row, col))
      for (int64_t k = range.begin; k < range.end; ++k) {
        product->a_turned ? add(product->a, k, row) : add(product->a, row, k);
        product->b_turned ? add(product->b, col, k) : add(product->b, k, col);
      }
    if (product->bias != kNoTensor) add(product->bias, 0, col);
    return;
  }
  for (const TensorId input : step.inputs) {
    const int64_t rows = matrix_shape(program.tensor(input)).rows;
    for (int64_t r = 0; r < rows; ++r)
      if (r == row || rows == 1 || step.op == Op::BiasGrad) add(input, r, col);
  }
}

}  // namespace

std::string equation_of(const Program& program, const Step& step) {
  if (!is_conversion(step.op)) return step.equation;
  if (step.op == Op::Identity) {
    const Collective needed = needed_by(program, step);
    if (needed == Collective::None) return step.equation;
    return fmt::format("no {}({})", to_string(needed), program.tensor(step.inputs[0]).symbol);
  }
  return fmt::format("{}({})", operation(step.op).name, converted_words(program, step));
}

std::string hand_text(double value) {
  const double size = std::abs(value);
  std::string digits = is_whole(size) ? fmt::format("{:.0f}", size) : fmt::format("{:.2f}", size);
  const bool is_zero = digits.find_first_not_of("0.") == std::string::npos;
  return value < 0 && !is_zero ? kMinus + digits : digits;
}

std::string in_brackets(double value) {
  const std::string text = hand_text(value);
  return text.starts_with(kMinus) ? "(" + text + ")" : text;
}

std::string added_up(const std::vector<double>& terms) {
  std::string sum;
  for (const double term : terms)
    sum += sum.empty() ? hand_text(term)
                       : fmt::format(" {} {}", term < 0 ? kMinus : "+", hand_text(std::abs(term)));
  return sum;
}

std::string equals(const std::vector<double>& shown) {
  return std::all_of(shown.begin(), shown.end(), is_whole) ? "=" : "≈";
}

Worked work_out(const HandRun& run, StepId id, TensorId tensor, int64_t row, int64_t col) {
  const Program& program = run.program();
  const Step& step = program.step(id);
  const bool is_partial = program.tensor(tensor).layout.kind == LayoutKind::Partial;
  Worked worked{.title = fmt::format("{}, row {}, column {}", program.tensor(tensor).symbol, row, col),
                .equation = equation_of(program, step),
                .lines = {},
                .reads = {},
                .terms = compare_terms(run, tensor, row, col)};
  for (int rank = 0; rank < kHandRanks; ++rank) add_reads(run, step, rank, row, col, worked.reads);
  if (is_collective(step.op)) {
    work_out_collective(run, step, tensor, row, col, worked);
  } else {
    for (int rank = 0; rank < kHandRanks; ++rank) {
      const auto result = run.of(tensor).ranks[static_cast<size_t>(rank)].at(row, col);
      if (!result) continue;
      WorkedLine line{
          .rank = rank, .words = rank_words(rank), .sum = sum_on_rank(run, step, rank, row, col, *result)};
      if (is_partial)  // a term has no number of one rank to be compared with
        worked.lines.push_back(std::move(line));
      else
        add_result(run, tensor, rank, row, col, std::move(line), worked);
    }
  }
  if (is_partial) add_sum_of_terms(run, tensor, row, col, worked);
  if (!run.of(tensor).serial.empty())
    worked.lines.push_back({.words = "T = 1", .sum = hand_text(run.serial(tensor, row, col))});
  return worked;
}

}  // namespace shardlens::lab
