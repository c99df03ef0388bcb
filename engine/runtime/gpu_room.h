// Whether ranks have room on the GPUs they were dealt out to: a rule over facts, the same on every machine,
// asked before anything is allocated.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/runtime/choose.h"

namespace shardlens {

/// The memory of a GPU that ranks are on.
struct GpuRoom {
  std::string name;        ///< "GPU 0"; of one of several machines "GPU 0 of node7"
  std::vector<int> ranks;  ///< of all T x D
  int64_t free_bytes =
      0;  ///< before the run, by whom it looks fullest; all there can be where it is not known
};

/// In the order of their first ranks; none on the CPU. For ranks that are threads of this process, and for
/// ranks that are processes, as choose() and choose_over_processes().
std::vector<GpuRoom> gpu_rooms(const Choice& choice, const GpuFacts& facts);
std::vector<GpuRoom> gpu_rooms(const Choice& choice, const std::vector<ProcessFacts>& ranks);

/// [neighbour, of T]: bytes that a run of the settings needs for each rank's arenas.
using RankNeeds = std::function<std::vector<int64_t>(const Settings&)>;

/// Throws a request Error where the ranks on a GPU need more than is free there, of the fullest one: what
/// refuse_if_too_large() says, what each rank needs, and which share the GPU. CUDA's own share of a GPU's
/// memory, some hundred megabytes a process, is not counted.
void refuse_if_gpus_too_full(const Settings& settings, const std::vector<GpuRoom>& rooms,
                             const RankNeeds& needs);

}  // namespace shardlens
