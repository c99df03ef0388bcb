// Which matrix products a Program makes, so that its speed can be held against the best this machine reaches
// on the same shapes, measured in the same run.
#pragma once

#include <vector>

#include "engine/config/settings.h"
#include "engine/device/gemm_bench.h"
#include "engine/device/gpu_facts.h"
#include "engine/program/program.h"

namespace shardlens {

/// The distinct products of `rank`'s linear steps, forward and backward, as that rank's device sees them.
std::vector<GemmShape> gemm_shapes(const Program& program, int rank);

/// The GPUs that ranks of these settings would compute on in this process, by number, each once; none where
/// they compute on the CPU.
std::vector<int> gpus_of(const Settings& settings, const GpuFacts& facts);
/// The same of this machine's GPUs, which are looked for only if they are asked for.
std::vector<int> gpus_of(const Settings& settings);

/// How fast what ranks of these settings compute on multiplies `shapes`: all cores of this process, a product
/// each at a time, or its GPUs that they are on.
GemmCeiling measure_ceiling(const Settings& settings, const std::vector<GemmShape>& shapes, int repetitions);

/// FLOP/s of all of that together at the fastest of `shapes`, the best of several measurements. A machine
/// that is busy elsewhere makes it too low, never too high: whoever is faster than it measures again.
double measured_ceiling_flops(const Settings& settings, const std::vector<GemmShape>& shapes);

}  // namespace shardlens
