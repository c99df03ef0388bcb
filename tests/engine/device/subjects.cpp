// The devices under test here: the CPU with two threads, which must have the same bits as one thread, and a
// GPU if there is one.
#include "tests/engine/device/subjects.h"

#include "engine/device/gpu_plugin.h"

namespace shardlens {

std::vector<Subject> subjects() {
  const auto gpu = [] { return gpu_facts().gpus.empty() ? nullptr : gpu_plugin().make_device(0, false); };
  return {{"CpuWithTwoThreads", [] { return make_cpu_device(2); }, true}, {"Gpu", gpu, false}};
}

}  // namespace shardlens
