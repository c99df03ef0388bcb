// Compares one tensor of a sharded run with the serial run (T = 1) of the same settings.
#pragma once

#include <memory>
#include <vector>

#include "engine/record/sample.h"

namespace shardlens {

struct TensorParity {
  bool compared = false;
  /// |sharded - serial| / |serial|, Euclidean norms, over the gathered tensor: the rows of all replicas
  double relative_error = 0;
  bool relative_to_terms = false;  ///< / |terms|: the terms that the tensor was summed from cancel
  double max_abs_error = 0;
  double bound = 0;  ///< the largest allowed relative_error: 5e-15 fp64, 3e-6 fp32, 0 with integer operands
  bool ranks_identical = true;  ///< what several ranks or replicas hold has the same bits on all of them
  /// Where most of the difference is; if there is none, the first rank whose bits are others than those of
  /// its fellows. -1: everywhere, or only the sum over the replicas or over the ranks is known.
  int replica = -1, rank = -1;
  /// sharded - serial over the full tensor of the first replica, block means of absolute values
  Picture difference;
  bool within_bound() const { return relative_error <= bound && ranks_identical; }
};

using ParityTable = std::vector<std::shared_ptr<const TensorParity>>;  ///< [tensor]; null: not compared

}  // namespace shardlens
