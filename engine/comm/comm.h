// Collectives over the ranks of one group, as the executor sees them. Every rank holds its own Communicator
// and all of them make the same calls in the same order. Sums are taken in rank order, so the result is the
// same bits on every rank and in every run.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "engine/config/dtype.h"
#include "engine/config/error.h"
#include "engine/program/layout.h"

namespace shardlens {

class Device;

/// When a rank passed through a collective, in seconds of std::chrono::steady_clock, and what it carried.
/// Wait is all_arrived - arrival, transfer is done - all_arrived.
struct CollectiveTimes {
  double arrival_seconds = 0;
  double all_arrived_seconds = 0;
  double done_seconds = 0;
  /// This rank's share of what travelled between the group's ranks, counted where it was carried. Over all
  /// ranks it adds up to what a ring sends: group_sent_bytes() of the planned step.
  int64_t sent_bytes = 0;
};

/// Which communicator runs and why: shown on screen and written to recordings.
struct CommunicatorInfo {
  std::string name;    ///< "local"
  std::string reason;  ///< "4 CPU threads, 2 cores"
};

/// The patience of ranks that wait for one another for ever.
inline constexpr double kNoTimeout = std::numeric_limits<double>::infinity();

/// What every rank that waits throws when others did not come: a Run Error that names them and the call.
class LostRanks : public Error {
 public:
  LostRanks(const std::string& message, std::vector<int> ranks, double waited_seconds)
      : Error(ErrorKind::Run, message), ranks_(std::move(ranks)), waited_seconds_(waited_seconds) {}
  const std::vector<int>& ranks() const { return ranks_; }  ///< of the group
  double waited_seconds() const { return waited_seconds_; }

 private:
  std::vector<int> ranks_;
  double waited_seconds_;
};

/// What all ranks of a group throw, whatever they ask for, when one of them has failed behind their backs: a
/// Run Error with what the one that failed could say itself.
class FailedRank : public Error {
 public:
  FailedRank(const std::string& message, int rank) : Error(ErrorKind::Run, message), rank_(rank) {}
  int rank() const { return rank_; }  ///< of the group

 private:
  int rank_;
};

/// Calls come from the rank's own thread; only abort() may come from any. Buffers hold the rank's own data,
/// do not overlap (but for the in-place calls), and must live until the call has returned or thrown: then no
/// other rank touches them any more. When ranks make different calls, every one of them throws a Run Error
/// that names two, before any buffer is touched, and the group is lost. A dtype the ranks do not compute in
/// is refused with a request Error. Who has waited longer than the group's patience throws LostRanks, and so
/// do all the others, also the lost one should it come after all: the group is lost. Only where a rank was
/// lost in the middle of moving memory may it still touch buffers then; its thread must have ended before
/// they go.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  virtual CommunicatorInfo info() const = 0;

  /// Called once by the rank's own thread, before its first collective, with the device whose memory the
  /// buffers will be in, which outlives this. Collectives of a device that works behind its calls return when
  /// they have been asked for, in WorkOrder::Collectives, and their times are the device's marks.
  virtual void attach(Device& device) { (void)device; }
  /// Called behind it by who knows what will come: the largest packed copy (packed_bytes()) of this rank's
  /// collectives, for which there is room then before any of them runs.
  virtual void make_room(int64_t packed_bytes) { (void)packed_bytes; }

  /// data[count] becomes the sum (or maximum) over the ranks, in place.
  virtual CollectiveTimes all_reduce(DType dtype, int64_t count, void* data,
                                     Reduction reduction = Reduction::Sum) = 0;
  /// shard = this rank's range of the sum of all `full`.
  virtual CollectiveTimes reduce_scatter(DType dtype, const Slicing& slicing, const void* full,
                                         void* shard) = 0;
  /// full = all ranks' shards put in their places.
  virtual CollectiveTimes all_gather(DType dtype, const Slicing& slicing, const void* shard, void* full) = 0;
  /// From slices along from_dim of a tensor of global shape `shape` to slices along to_dim.
  virtual CollectiveTimes all_to_all(DType dtype, const Shape& shape, int from_dim, int to_dim,
                                     const void* from, void* to) = 0;
  /// data[count] of rank `root` reaches every rank.
  virtual CollectiveTimes broadcast(DType dtype, int64_t count, int root, void* data) = 0;
  /// Returns when every rank has called it.
  virtual void barrier() = 0;

  /// Wakes every rank that waits in a collective of this group, and makes every later call throw a Cancelled
  /// Error with `why`. Called by a rank that failed or by whoever cancels; safe from any thread, any number
  /// of times.
  virtual void abort(const std::string& why) = 0;
};

/// One communicator per rank over threads of this process. `ranks` >= 1. Waiting spins for a moment only when
/// every thread that computes can have a core of its own, and sleeps otherwise: `threads` is how many compute
/// in all when the group is one of several, 0 when it is the only one. So long ranks wait for one another.
std::vector<std::unique_ptr<Communicator>> make_local_group(int ranks, int threads = 0,
                                                            double patience_seconds = kNoTimeout);

}  // namespace shardlens
