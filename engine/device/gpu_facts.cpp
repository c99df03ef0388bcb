// Leaves out GPUs that are too old for our kernels.
#include "engine/device/gpu_facts.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardlens {

void leave_out_old_gpus(GpuFacts& facts) {
  std::vector<std::string> old;
  std::erase_if(facts.gpus, [&](const Gpu& gpu) {
    if (gpu.major >= kLeastComputeMajor) return false;
    old.push_back(
        fmt::format("GPU {} ({}) has compute capability {}.{}", gpu.number, gpu.name, gpu.major, gpu.minor));
    return true;
  });
  if (old.empty()) return;
  const auto is_there = [&](int number) {
    return std::any_of(facts.gpus.begin(), facts.gpus.end(),
                       [number](const Gpu& gpu) { return gpu.number == number; });
  };
  std::erase_if(facts.links, [&](const GpuLink& link) { return !is_there(link.from) || !is_there(link.to); });
  if (facts.gpus.empty())
    facts.why_no_gpu = fmt::format("{}, and this program's kernels need {}.0 or newer, such as an A100's",
                                   fmt::join(old, ", "), kLeastComputeMajor);
}

}  // namespace shardlens
