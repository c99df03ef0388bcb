// Which matrix products a Program makes, so that its speed can be held against the best this machine reaches
// on the same shapes, measured in the same run.
#pragma once

#include <vector>

#include "engine/device/gemm_bench.h"
#include "engine/program/program.h"

namespace shardlens {

/// The distinct products of `rank`'s linear steps, forward and backward, as that rank's device sees them.
std::vector<GemmShape> gemm_shapes(const Program& program, int rank);

/// FLOP/s of all cores together at the fastest of `shapes`, the best of several measurements. A machine that
/// is busy elsewhere makes it too low, never too high: whoever is faster than it measures again.
double measured_ceiling_flops(DType dtype, const std::vector<GemmShape>& shapes);

}  // namespace shardlens
