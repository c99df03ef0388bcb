// Puts a number together from windows of its tensors.
#include "ui/product/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/runtime/snapshot.h"
#include "ui/plan/cache.h"
#include "ui/plan/shown_plan.h"
#include "ui/plan/window_values.h"

namespace shardlens::ui {
namespace {

constexpr int64_t kNeighbours = 8;  ///< rows and columns read together, so that the next number is there

/// `at` and its neighbours: as many as a window may have if each has `others` elements.
Range around(int64_t at, int64_t extent, int64_t others) {
  const int64_t block = std::clamp<int64_t>(kWindowElements / std::max<int64_t>(others, 1), 1, kNeighbours);
  const int64_t begin = at / block * block;
  return {begin, std::min(begin + block, extent)};
}

/// One factor's line of pairs: a row of its tensor, or a column.
struct Line {
  TensorId tensor = kNoTensor;
  bool is_column = false;
  int64_t at = 0;

  TensorWindow window(const Program& program) const {
    const MatrixShape full = matrix_shape(program.tensor(tensor));
    if (is_column) return {tensor, {0, full.rows}, around(at, full.cols, full.rows)};
    return {tensor, around(at, full.rows, full.cols), {0, full.cols}};
  }
  double value(const WindowValues& values, int rank, int64_t pair) const {
    const size_t index = is_column ? values.at(pair, at) : values.at(at, pair);
    return values.ranks[static_cast<size_t>(rank)][index];
  }
  /// [pair]: the first rank that holds it.
  std::vector<int> holders(const Program& program) const {
    const MatrixShape full = matrix_shape(program.tensor(tensor));
    std::vector<int> holders(static_cast<size_t>(is_column ? full.rows : full.cols), 0);
    for (int rank = program.tp() - 1; rank >= 0; --rank)
      for (const Placement& piece : placements(program.tensor(tensor), program.tp(), rank)) {
        const Range& across = is_column ? piece.cols : piece.rows;
        const Range& along = is_column ? piece.rows : piece.cols;
        if (at >= across.begin && at < across.end)
          std::fill(holders.begin() + along.begin, holders.begin() + along.end, rank);
      }
    return holders;
  }
};

TensorWindow square_around(const Program& program, TensorId id, int64_t row, int64_t col) {
  const MatrixShape full = matrix_shape(program.tensor(id));
  return {id, around(row, full.rows, 1), around(col, full.cols, 1)};
}

/// As in common_scale(): three times the rms, or the largest magnitude if that is less.
ColourScale scale_of(const std::vector<NumberPart>& parts, std::vector<double> NumberPart::*values) {
  double largest = 0, squares = 0, count = 0;
  for (const NumberPart& part : parts)
    for (const double value : part.*values) {
      if (!std::isfinite(value)) continue;
      largest = std::max(largest, std::abs(value));
      squares += value * value;
      ++count;
    }
  const double limit = count > 0 ? std::min(largest, 3 * std::sqrt(squares / count)) : 0;
  return {ColourMap::Signed, limit > 0 ? limit : 1};
}

Picture one_row(const std::vector<double>& values) {
  Picture picture{1, static_cast<int>(values.size()), {values.begin(), values.end()}, {}};
  measure_extent(picture);
  return picture;
}

/// The value of `values` at the number's place on the first rank that holds it, and the ranks that do.
std::optional<double> held_in(const Program& program, const WindowValues& values, int64_t row, int64_t col,
                              std::vector<int>& holders) {
  const Tensor& tensor = program.tensor(values.window.tensor);
  for (int rank = 0; rank < program.tp(); ++rank)
    if (holds(tensor, program.tp(), rank, row, col)) holders.push_back(rank);
  if (holders.empty()) return std::nullopt;
  return values.ranks[static_cast<size_t>(holders.front())][values.at(row, col)];
}

}  // namespace

NumberWindows windows_of_number(const Program& program, const Product& product, int64_t row, int64_t col) {
  NumberWindows windows;
  windows.a = Line{product.a, product.a_turned, row}.window(program);
  windows.b = Line{product.b, !product.b_turned, col}.window(program);
  windows.out = square_around(program, product.out, row, col);
  if (product.bias != kNoTensor) windows.bias = square_around(program, product.bias, 0, col);
  if (const StepId conversion = conversion_after(program, product.out); conversion >= 0)
    windows.after = square_around(program, program.step(conversion).outputs.front(), row, col);
  return windows;
}

std::shared_ptr<const Number> number_of(const std::shared_ptr<const Plan>& plan, const Product& product,
                                        int64_t row, int64_t col, std::optional<SumCut> wanted,
                                        const NumberSources& from) {
  auto number = std::make_shared<Number>();
  number->plan = plan;
  const Program& program = number->plan->program;
  const SumCut run_as = sum_cut(program, product);
  number->product = product;
  number->row = row;
  number->col = col;
  number->cut = wanted.value_or(run_as);
  number->is_run = number->cut == run_as;
  const Line a{product.a, product.a_turned, row}, b{product.b, !product.b_turned, col};
  const std::vector<int> a_holders = a.holders(program), b_holders = b.holders(program);
  const bool plain = product.bias == kNoTensor && !product.is_added && !product.is_bent;
  for (int rank = 0; rank < program.tp(); ++rank) {
    NumberPart part;
    part.pairs = number->is_run ? pairs_of(program, product, rank, row, col)
                                : pairs_if_cut(program, product, number->cut, rank, row, col);
    for (const Range& range : part.pairs)
      for (int64_t pair = range.begin; pair < range.end; ++pair) {
        const auto p = static_cast<size_t>(pair);
        part.a.push_back(a.value(*from.a, number->is_run ? rank : a_holders[p], pair));
        part.b.push_back(b.value(*from.b, number->is_run ? rank : b_holders[p], pair));
        part.term += part.a.back() * part.b.back();
        part.running.push_back(part.term);
        number->lowest = std::min(number->lowest, part.term);
        number->highest = std::max(number->highest, part.term);
      }
    part.a_picture = one_row(part.a);
    part.b_picture = one_row(part.b);
    if (number->is_run && part.makes())
      part.held = from.out->ranks[static_cast<size_t>(rank)][from.out->at(row, col)];
    if (part.held && plain) part.term = *part.held;
    number->parts.push_back(std::move(part));
  }
  number->a_scale = scale_of(number->parts, &NumberPart::a);
  number->b_scale = scale_of(number->parts, &NumberPart::b);
  for (const NumberPart& part : number->parts) {
    if (!part.makes()) continue;
    number->sum += part.term;
    if (number->cut != SumCut::Terms) break;  // the others made the same number
  }
  if (from.bias) {
    std::vector<int> unused;
    number->bias = held_in(program, *from.bias, 0, col, unused);
  }
  number->conversion = conversion_after(program, product.out);
  const bool converted = number->conversion >= 0 && run_as == SumCut::Terms;
  if (number->is_run && from.after && converted)
    number->result = held_in(program, *from.after, row, col, number->holders);
  if (number->is_run && run_as != SumCut::Terms)
    number->result = held_in(program, *from.out, row, col, number->holders);
  if (!from.out->serial.empty()) number->serial = from.out->serial[from.out->at(row, col)];
  return number;
}

const Program& Number::program() const {
  return plan->program;
}

int Number::makers() const {
  return static_cast<int>(std::count_if(parts.begin(), parts.end(), [](const auto& p) { return p.makes(); }));
}

std::vector<double> Number::terms() const {
  std::vector<double> all;
  for (const NumberPart& part : parts)
    if (part.makes()) all.push_back(part.term);
  return all;
}

std::shared_ptr<const Number> make_number(const Context& context, const Product& product, int64_t row,
                                          int64_t col, std::optional<SumCut> cut, std::string& why) {
  const std::shared_ptr<const Plan> plan = shared_shown_plan(context.snapshot);
  if (!plan) return nullptr;
  const NumberWindows windows = windows_of_number(plan->program, product, row, col);
  const auto read = [&](const TensorWindow& window) -> std::shared_ptr<const WindowValues> {
    if (window.tensor == kNoTensor) return nullptr;
    auto values = values_in(context, window);
    if (!values && why.empty()) why = why_no_values(context, window);
    return values;
  };
  NumberSources from{read(windows.a), read(windows.b), read(windows.out), read(windows.bias), nullptr};
  const StepId conversion = conversion_after(plan->program, product.out);
  if (conversion >= 0 && static_cast<size_t>(conversion) < context.snapshot.position)
    from.after = read(windows.after);
  if (!from.a || !from.b || !from.out) return nullptr;
  struct Key {
    std::shared_ptr<const Plan> plan;
    Product product;
    int64_t row, col;
    std::optional<SumCut> cut;
    NumberSources from;
    bool operator==(const Key&) const = default;
  };
  static Cache<Key, std::shared_ptr<const Number>, 2> known;
  return known.of({plan, product, row, col, cut, from},
                  [&] { return number_of(plan, product, row, col, cut, from); });
}

AlikeNumbers::AlikeNumbers(const std::vector<double>& values, int digits) {
  double largest = 0;
  for (const double value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  const int magnitude = largest > 0 ? static_cast<int>(std::floor(std::log10(largest))) : 0;
  const bool is_plain = magnitude >= -3 && magnitude < 5;
  exponent_ = is_plain ? 0 : magnitude;
  decimals_ = is_plain ? std::clamp(digits - magnitude, 0, 6) : digits;
}

AlikeNumbers AlikeNumbers::adding_up(std::vector<double> terms, double sum) {
  constexpr int kMostMore = 3;
  terms.push_back(sum);
  const AlikeNumbers few(terms);
  for (int more = 0; more <= kMostMore; ++more) {
    AlikeNumbers alike = few;
    alike.decimals_ += more;
    const double unit = std::pow(10.0, alike.exponent_ - alike.decimals_);
    double left = std::round(sum / unit);
    for (size_t i = 0; i + 1 < terms.size(); ++i) left -= std::round(terms[i] / unit);
    if (left == 0) return alike;
  }
  return few;
}

AlikeNumbers alike_numbers(const Number& number) {
  std::vector<double> terms = number.is_terms() ? number.terms() : std::vector<double>{number.sum};
  if (number.bias) terms.push_back(*number.bias);
  if (!number.product.is_added && !number.product.is_bent)
    return AlikeNumbers::adding_up(std::move(terms), number.value());
  terms.push_back(number.value());
  return AlikeNumbers(terms);
}

std::string AlikeNumbers::text(double value, bool with_plus) const {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value > 0 ? "inf" : "\u2212inf";
  std::string digits = fmt::format("{:.{}f}", std::abs(value) / std::pow(10.0, exponent_), decimals_);
  if (exponent_ != 0) digits += fmt::format("e{}", exponent_);
  return (value < 0 ? "\u2212" : with_plus ? "+" : "") + digits;
}

}  // namespace shardlens::ui
