// The matrix products of a Program, to compare its speed with the best speed that this machine reaches on the
// same shapes, measured in the same run.
#pragma once

#include <vector>

#include "engine/base/job.h"
#include "engine/config/settings.h"
#include "engine/device/gemm_bench.h"
#include "engine/device/gpu_facts.h"
#include "engine/program/program.h"

namespace shardlens {

/// The different products of `rank`'s linear steps, forward and backward, as that rank's device sees them.
std::vector<GemmShape> gemm_shapes(const Program& program, int rank);

/// The numbers of the GPUs that ranks of these settings would compute on in this process, each once; empty if
/// they compute on the CPU.
std::vector<int> gpus_of(const Settings& settings, const GpuFacts& facts);
/// The same for this machine's GPUs; it looks for them only if the settings ask for GPUs.
std::vector<int> gpus_of(const Settings& settings);

/// Measures how fast the cores or GPUs of these settings' ranks multiply `shapes`: all cores of this process,
/// each with a product of its own at the same time, or the GPUs that the ranks are on.
GemmCeiling measure_ceiling(const Settings& settings, const std::vector<GemmShape>& shapes, int repetitions);

/// FLOP/s of all of these together at the fastest of `shapes`, the best of several measurements. On a busy
/// machine it is too low, never too high: if a run is faster, measure again. In pieces of a product.
Job<double> measured_ceiling_flops(Settings settings, std::vector<GemmShape> shapes);

}  // namespace shardlens
