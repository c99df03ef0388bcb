// Makes expressions.
#include "engine/derivation/expressions.h"

#include <utility>

namespace shardlens::formulas {

Math made(MathKind kind, std::vector<Math> parts, std::string text) {
  Math math;
  math.kind = kind;
  math.parts = std::move(parts);
  math.text = std::move(text);
  return math;
}

Math number(const std::string& text) {
  return made(MathKind::Number, {}, text);
}
Math words(const std::string& text) {
  return made(MathKind::Words, {}, text);
}
Math product(std::vector<Math> factors) {
  return made(MathKind::Product, std::move(factors));
}
Math entrywise(std::vector<Math> factors) {
  return made(MathKind::Entrywise, std::move(factors));
}
Math sum(std::vector<Math> terms) {
  if (terms.size() == 1) return std::move(terms.front());
  Math math = made(MathKind::Sum, std::move(terms));
  math.minus.resize(math.parts.size());
  return math;
}
Math difference(Math from, Math taken) {
  Math math = from.kind == MathKind::Sum ? std::move(from) : made(MathKind::Sum, {std::move(from)});
  math.parts.push_back(std::move(taken));
  math.minus.resize(math.parts.size());
  math.minus.back() = true;
  return math;
}
Math quotient(Math above, Math below) {
  return made(MathKind::Quotient, {std::move(above), std::move(below)});
}
Math slanted_quotient(Math above, Math below) {
  Math math = quotient(std::move(above), std::move(below));
  math.slanted = true;
  return math;
}
Math function(const std::string& name, std::vector<Math> of) {
  return made(MathKind::Function, std::move(of), name);
}
Math picked(Math from, Math which) {
  return made(MathKind::Picked, {std::move(from), std::move(which)});
}
Math block_row(std::vector<Math> blocks) {
  return made(MathKind::Blocks, std::move(blocks));
}
Math block_column(std::vector<Math> blocks) {
  Math math = made(MathKind::Blocks, std::move(blocks));
  math.column = true;
  return math;
}
Math transposed(Math symbol) {
  symbol.turned = !symbol.turned;
  return symbol;
}
Math to_power(Math symbol, const std::string& power) {
  symbol.power = power;
  return symbol;
}
Math sum_over_columns(const std::string& what, Math of) {
  return made(MathKind::Reduction, {std::move(of)}, what);
}
Math sum_over_rows(const std::string& what, Math of) {
  Math math = sum_over_columns(what, std::move(of));
  math.over = Over::Rows;
  return math;
}
Math sum_over_all(const std::string& what, Math of) {
  Math math = sum_over_columns(what, std::move(of));
  math.over = Over::All;
  return math;
}
Math sum_over_list(const std::string& what, Math of) {
  Math math = sum_over_columns(what, std::move(of));
  math.over = Over::List;
  return math;
}
Math negated(Math math) {
  Math sum = made(MathKind::Sum, {std::move(math)});
  sum.minus = {true};
  return sum;
}
Math largest_of_columns(const std::string& what, Math of) {
  Math math = sum_over_columns(what, std::move(of));
  math.largest = true;
  return math;
}

Extent rows_of(TensorId tensor) {
  return {.tensor = tensor, .rows = true};
}
Extent cols_of(TensorId tensor) {
  return {.tensor = tensor, .rows = false};
}
Extent fixed(int64_t number) {
  return {.fixed = number};
}

}  // namespace shardlens::formulas
