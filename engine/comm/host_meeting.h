// Where the ranks of a group meet on the host, for a communicator whose data travels by other ways: who goes
// on knows that all have come, and with the same request.
#pragma once

#include <cstddef>
#include <string>

#include "engine/comm/request.h"

namespace shardlens {

/// This process's place in it. Calls come from the rank's own thread, the same ones on all ranks; only
/// abort() may come from any. What they throw is what a Communicator's collectives throw: LostRanks names who
/// did not come, and where requests differ all ranks name two.
class HostMeeting {
 public:
  virtual ~HostMeeting() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Returns when all ranks have come with this request.
  virtual void meet(const Request& request) = 0;
  /// The bytes of rank 0 reach all.
  virtual void hand_out(void* bytes, size_t count) = 0;
  /// As Communicator's.
  virtual void abort(const std::string& why) = 0;
};

}  // namespace shardlens
