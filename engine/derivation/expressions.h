// Makes expressions: difference(a, b) is a − b, sum_over_rows("tokens", a) is Σ over the rows of a.
#pragma once

#include <string>
#include <vector>

#include "engine/derivation/math.h"

namespace shardlens::formulas {

/// An expression of this kind with these parts.
Math made(MathKind kind, std::vector<Math> parts, std::string text = "");
Math number(const std::string& text);
Math words(const std::string& text);
Math product(std::vector<Math> factors);
Math entrywise(std::vector<Math> factors);
Math sum(std::vector<Math> terms);
Math difference(Math from, Math taken);
Math quotient(Math above, Math below);
Math slanted_quotient(Math above, Math below);  ///< in one line: `above` has no sum, `below` is one factor
Math function(const std::string& name, std::vector<Math> of);
Math picked(Math from, Math which);
Math block_row(std::vector<Math> blocks);
Math block_column(std::vector<Math> blocks);
Math transposed(Math symbol);
Math to_power(Math symbol, const std::string& power);
Math sum_over_columns(const std::string& what, Math of);  ///< one column is left
Math sum_over_rows(const std::string& what, Math of);     ///< one row is left
Math sum_over_all(const std::string& what, Math of);      ///< one number is left
Math sum_over_list(const std::string& what, Math of);     ///< of matrices of the same shape
Math negated(Math math);
Math largest_of_columns(const std::string& what, Math of);

/// The extents of a tensor's matrix.
Extent rows_of(TensorId tensor);
Extent cols_of(TensorId tensor);
Extent fixed(int64_t number);

}  // namespace shardlens::formulas
