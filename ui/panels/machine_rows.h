// Rows of memory: what the machine reports, and our own accounting. They are made from facts alone, so a
// machine with GPUs can be drawn on a machine without any. Nothing here draws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/runtime/session/machine_watch.h"
#include "engine/runtime/snapshot.h"

namespace shardlens::ui {

/// One memory: a GPU's, or the machine's own.
struct MemoryRow {
  std::string name;            ///< "GPU 0: NVIDIA H200"
  int64_t total_bytes = 0;     ///< 0: it is not known
  int64_t used_bytes = -1;     ///< by all programs, as `teller` reports; -1: it does not report it
  std::string teller;          ///< "the driver", "the operating system"
  int64_t planned_bytes = 0;   ///< arenas of the ranks that compute there
  std::vector<int> ranks;      ///< the world ranks that compute there
  int64_t process_bytes = -1;  ///< resident of this process; -1: it is not known there

  int64_t free_bytes() const { return used_bytes < 0 ? -1 : total_bytes - used_bytes; }
  /// True if the planned bytes do not fit, even if nothing else used this memory.
  bool is_exceeded() const { return total_bytes > 0 && planned_bytes > total_bytes; }
};

struct MachineRows {
  std::vector<MemoryRow> memories;  ///< GPUs in their order, the machine's own last
  std::vector<std::string> links;   ///< "GPU 0 – GPU 1: NVLink"; many pairs are grouped by kind
  std::string no_gpu;               ///< a sentence; empty when there are GPUs
};

/// `plan` may be null: then nothing is planned anywhere.
MachineRows machine_rows(const MachineFacts& facts, const Plan* plan);

/// "rank 2", "ranks 0, 1 and 2", "ranks 0 to 7".
std::string ranks_text(const std::vector<int>& ranks);
/// "GPU 0: NVIDIA H200, 139 GiB", or for several equal GPUs "8 GPUs: NVIDIA H200, 139 GiB each, NVLink".
std::string gpus_words(const GpuFacts& facts);

}  // namespace shardlens::ui
