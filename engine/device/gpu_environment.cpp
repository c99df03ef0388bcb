// Which variables there are, and why.
#include "engine/device/gpu_environment.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace shardlens {
namespace {

// NCCL refuses two ranks on a GPU unless this is 1 (from 2.30 on; older versions always refuse). The process
// learns only later if ranks share a GPU, so it owns the text: the value can change in its place.
constexpr const char* kSharing = "NCCL_MULTI_RANK_GPU_ENABLE";
char sharing[] = "NCCL_MULTI_RANK_GPU_ENABLE=0";

struct Variable {
  const char* name;
  const char* value;
};

constexpr Variable kVariables[] = {
    // By default a context has few connections to the GPU, and streams that share one wait for each other.
    // Every rank on a GPU has two streams, in addition to NCCL's.
    {"CUDA_DEVICE_MAX_CONNECTIONS", "32"},
    // Sums in NVLink's switches differ in their last bits from one call to the next.
    {"NCCL_NVLS_ENABLE", "0"},
    // Ranks connect when a group starts, for which they have more patience than for a collective. By default
    // NCCL does it from 2.22 on in the first collective of each algorithm. What it allocates then may wait
    // for the whole GPU, so, if ranks share it, for the kernel of an earlier rank that waits for this one.
    {"NCCL_RUNTIME_CONNECT", "0"},
    // NCCL keeps what it has read of its environment, and a process may have groups with one rank per GPU
    // before a group that shares. From 2.30.3 on, the first version that allows sharing, NCCL reads this
    // variable again each time.
    {"NCCL_NO_CACHE", kSharing},
};

}  // namespace

void prepare_gpu_environment() {
  for (const Variable& variable : kVariables) setenv(variable.name, variable.value, 0);
  if (std::getenv(kSharing) == nullptr) putenv(sharing);
}

void let_nccl_share_gpus() {
  std::atomic_ref(sharing[std::strlen(sharing) - 1]).store('1');
}

}  // namespace shardlens
