// Compares one tensor of a sharded run with the serial run (T = 1) of the same settings.
#pragma once

#include <memory>
#include <vector>

#include "engine/record/sample.h"

namespace shardlens {

struct TensorParity {
  bool compared = false;
  double relative_error = 0;  ///< |sharded - serial| / |serial|, Euclidean norms, over the gathered tensor
  bool relative_to_terms = false;  ///< / |terms|: the terms that the tensor was summed from cancel
  double max_abs_error = 0;
  double bound = 0;  ///< the largest allowed relative_error: 5e-15 fp64, 3e-6 fp32, 0 with integer operands
  bool ranks_identical = true;  ///< Replicated tensors: the same bits on every rank
  Picture difference;           ///< sharded - serial over the full tensor, block means of absolute values
  bool within_bound() const { return relative_error <= bound && ranks_identical; }
};

using ParityTable = std::vector<std::shared_ptr<const TensorParity>>;  ///< [tensor]; null: not compared

}  // namespace shardlens
