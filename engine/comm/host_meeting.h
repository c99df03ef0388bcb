// A barrier on the host for the ranks of a group, for a communicator whose data travels by other ways. When a
// rank passes it, all ranks have come with the same request.
#pragma once

#include <cstddef>
#include <string>

#include "engine/comm/request.h"

namespace shardlens {

/// This process's end of the barrier. Calls come from the rank's own thread, the same calls on all ranks;
/// only abort() may come from any thread. Calls throw what a Communicator's collectives throw: LostRanks
/// names the ranks that did not come, and if requests differ, all ranks throw an Error that names two of
/// them.
class HostMeeting {
 public:
  virtual ~HostMeeting() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Returns when all ranks have come with this request.
  virtual void meet(const Request& request) = 0;
  /// Copies the bytes of rank 0 to all ranks.
  virtual void hand_out(void* bytes, size_t count) = 0;
  /// Like Communicator::abort().
  virtual void abort(const std::string& why) = 0;
};

}  // namespace shardlens
