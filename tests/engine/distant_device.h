// A device that behaves like a GPU but uses the CPU's operations. Its memory is mapped so that an access from
// outside an operation crashes. On request its calls return before the work is done: one thread then runs the
// steps, another the collectives.
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
  double collective_seconds = 0;                        ///< a collective takes at least so long
  std::shared_ptr<std::atomic<int>> marks = nullptr;    ///< where there is one, counts all ranks' marks
  bool captures = true;                                 ///< can keep the work of a pass
  std::shared_ptr<std::atomic<int>> replays = nullptr;  ///< where there is one, counts them
  /// Where there is one, counts what is fetched with a pass.
  std::shared_ptr<std::atomic<int>> fetches = nullptr;
  /// Where there is one, the most steps that any call of adamw() asked for.
  std::shared_ptr<std::atomic<int>> longest_adamw = nullptr;
};

/// Devices whose memory the host cannot touch, and groups whose collectives can.
std::shared_ptr<Backend> make_distant_backend(const DistantOptions& options = {});

}  // namespace shardlens::testing
