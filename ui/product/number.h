// How one number of a product was made: the row and the column, each rank's piece of both, its term with the
// running sum, and what the run and the run on one rank hold at this place. Made of the run's own values.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/program/product.h"
#include "engine/record/sample.h"
#include "engine/runtime/tensor_window.h"
#include "ui/context.h"
#include "ui/widgets/heatmap.h"

namespace shardlens::ui {

/// What one rank does for the number.
struct NumberPart {
  std::vector<Range> pairs;      ///< empty: nothing
  std::vector<double> a, b;      ///< the factors of its pairs
  Picture a_picture, b_picture;  ///< the same, one row each
  std::vector<double> running;   ///< the sum after each pair, computed here in fp64
  double term = 0;               ///< held by the run if this is its cut and no bias is added; else the sum
  std::optional<double> held;    ///< what the run holds in the result at this place
  bool makes() const { return !pairs.empty(); }
};

struct Number {
  std::shared_ptr<const Plan> plan;
  Product product;
  int64_t row = 0, col = 0;
  SumCut cut = SumCut::None;
  bool is_run = true;             ///< false: another cut of the same numbers, computed here
  std::vector<NumberPart> parts;  ///< [rank]
  ColourScale a_scale, b_scale;
  double lowest = 0, highest = 0;  ///< of all running sums and 0
  double sum = 0;                  ///< of the terms, without bias
  std::optional<double> bias;
  StepId conversion = -1;        ///< conversion_after() of the result
  std::optional<double> result;  ///< what the run holds in the end, on the ranks that hold it
  std::vector<int> holders;      ///< these ranks
  std::optional<double> serial;  ///< the run on one rank

  const Program& program() const;
  int makers() const;  ///< how many ranks make a part of it
  /// True if the ranks' parts are terms that must be added.
  bool is_terms() const { return cut == SumCut::Terms && parts.size() > 1; }
  std::vector<double> terms() const;  ///< of the ranks that make one
  /// The number as it goes on: the run's, else the sum with the bias.
  double value() const { return result ? *result : sum + bias.value_or(0); }
};

/// The windows that a number is made of: a row of A, a column of B, and the places in the result, the bias
/// and what the collective makes of the result. A tensor that it does not need is kNoTensor.
struct NumberWindows {
  TensorWindow a, b, out, bias, after;
};
NumberWindows windows_of_number(const Program& program, const Product& product, int64_t row, int64_t col);

/// Their values; `bias` and `after` may be null.
struct NumberSources {
  std::shared_ptr<const WindowValues> a, b, out, bias, after;
  bool operator==(const NumberSources&) const = default;
};

/// Puts the number together. `cut`: another than the run's.
std::shared_ptr<const Number> number_of(const std::shared_ptr<const Plan>& plan, const Product& product,
                                        int64_t row, int64_t col, std::optional<SumCut> cut,
                                        const NumberSources& from);

/// Returns the number of the shown run, or null and in `why` the reason why it is not known.
std::shared_ptr<const Number> make_number(const Context& context, const Product& product, int64_t row,
                                          int64_t col, std::optional<SumCut> cut, std::string& why);

/// Numbers that stand side by side, all with as many decimals: "−0.1312", or "−1.312e-5".
class AlikeNumbers {
 public:
  /// `digits`: of the largest magnitude.
  explicit AlikeNumbers(const std::vector<double>& values, int digits = 3);
  /// For terms and their sum: up to three digits more, so that the numbers add up as they are shown. As few
  /// as ever if that does not help, because the run has rounded the sum.
  static AlikeNumbers adding_up(std::vector<double> terms, double sum);
  std::string text(double value, bool with_plus = false) const;

 private:
  int decimals_ = 3;
  int exponent_ = 0;  ///< 0: written without one
};

/// The numbers of the sum that the page shows: the ranks' terms, or their sum, the bias, and the result.
AlikeNumbers alike_numbers(const Number& number);

}  // namespace shardlens::ui
