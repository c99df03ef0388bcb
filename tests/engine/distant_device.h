// A device such as a GPU is, out of the CPU's operations: its memory is mapped so that whoever touches it
// from outside an operation crashes, and, if asked to, it works behind its calls, with one thread for the
// steps and one for the collectives.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/backend.h"

namespace shardlens::testing {

struct DistantOptions {
  bool works_behind = false;
  std::string
      fails_at;  ///< the operation that fails on rank `failing_rank`: "gelu", "tanh", "slice"; empty: none
  int failing_rank = 0;
  double collective_seconds = 0;                      ///< a collective takes at least so long
  std::shared_ptr<std::atomic<int>> marks = nullptr;  ///< where there is one, counts all ranks' marks
  /// Where there is one, the most steps that any call of adamw() asked for.
  std::shared_ptr<std::atomic<int>> longest_adamw = nullptr;
};

/// Devices whose memory the host cannot touch, and groups whose collectives can.
std::shared_ptr<Backend> make_distant_backend(const DistantOptions& options = {});

}  // namespace shardlens::testing
