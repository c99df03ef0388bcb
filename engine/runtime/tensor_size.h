// How large the errors of a tensor may be: relative to its own size, or to that of the terms it was summed
// from. Where terms cancel, as in the gradient of a softmax over one key, the sum is nothing but their
// rounding errors, and its own size says nothing.
#pragma once

#include <map>
#include <string>

#include "engine/program/program.h"

namespace shardlens {

class SerialReference;

/// Two sizes of a value, each the root mean square over its elements.
struct TensorSize {
  double own = 0;
  double terms = 0;  ///< what `own` would be if the signs of the terms were random
  bool is_picked =
      false;  ///< elements of a larger tensor: `terms` is its size, and their errors are those of all

  /// Sums that are less than a quarter of their terms count as cancelled. A sum of many elements never is by
  /// chance; one number is in every fourth sum.
  bool is_cancelled() const { return terms > (is_picked ? own : 4 * own); }
  double judged() const { return is_cancelled() ? terms : own; }
};

/// The sizes of the values that `program` computes, by Tensor::value. `own` is that of the serial run's
/// value. `terms` follows from the sizes of each step's operands, and so a cancelled sum is passed on to what
/// is computed from it. `bound`: the largest allowed relative error.
///
/// `terms` of a value of the forward pass is at most own / √bound: half of the digits that the bound asks for
/// must be left, or the value is wrong, whatever it was computed from. So a run whose numbers are lost in
/// rounding errors cannot pass.
std::map<std::string, TensorSize> tensor_sizes(const Program& program, const SerialReference& serial,
                                               double bound);

}  // namespace shardlens
