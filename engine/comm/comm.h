// The interface of the collectives over the ranks of one group, as the executor uses them. Every rank holds
// its own Communicator, and all ranks make the same calls in the same order. Sums have the same bits on every
// rank and in every run. They are taken in rank order (NCCL: of 16-bit values; of fp32 and fp64 in its own,
// which is always the same), and sums of 16-bit values are rounded once.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/base/error.h"
#include "engine/program/layout.h"

namespace shardlens {

class Device;

/// When a rank passed through a collective, in seconds of std::chrono::steady_clock, and what it carried.
/// Wait is all_arrived - arrival, transfer is done - all_arrived.
struct CollectiveTimes {
  double arrival_seconds = 0;
  double all_arrived_seconds = 0;
  double done_seconds = 0;
  /// This rank's share of the bytes that travelled between the group's ranks, counted by the code that
  /// carried them. The sum over all ranks is what a ring sends: group_sent_bytes() of the planned step.
  int64_t sent_bytes = 0;
};

/// Which communicator runs and why: shown on screen and written to recordings.
struct CommunicatorInfo {
  std::string name;    ///< "local"
  std::string reason;  ///< "4 CPU threads, 2 cores"
};

/// The patience of ranks that wait for one another without a limit.
inline constexpr double kNoTimeout = std::numeric_limits<double>::infinity();

/// Thrown by every waiting rank when other ranks did not come: a Run Error that names those ranks and the
/// call.
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

/// Thrown by all ranks of a group, on any call, when one of them has failed asynchronously: a Run Error with
/// the failed rank's own message.
class FailedRank : public Error {
 public:
  FailedRank(const std::string& message, int rank) : Error(ErrorKind::Run, message), rank_(rank) {}
  int rank() const { return rank_; }  ///< of the group

 private:
  int rank_;
};

/// Calls come from the rank's own thread; only abort() may come from any thread. Buffers hold the rank's own
/// data, do not overlap (except in the in-place calls), and must live until the call has returned or thrown.
/// After that no other rank touches them. If ranks make different calls, every rank throws a Run Error that
/// names two of them, before any buffer is touched, and the group is lost. A dtype that the ranks do not
/// compute in is refused with a request Error. A rank that has waited longer than the group's patience throws
/// LostRanks, and so do all other ranks, even the lost one if it comes later: the group is lost. There is one
/// exception to the buffer rule: a rank that was lost while it moved memory may still touch buffers, so its
/// thread must end before they are freed.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  virtual CommunicatorInfo info() const = 0;

  /// Called once by the rank's own thread, before its first collective, with the device that holds the
  /// buffers. The device outlives this Communicator. On a device that works behind its calls, the caller
  /// calls WorkBehind::begin_collective() before each collective. The collective returns when its work has
  /// been enqueued, in WorkOrder::Collectives, and its times are the device's marks.
  virtual void attach(Device& device) { (void)device; }
  /// Called after attach(), if the coming collectives are known, with the size of the largest packed copy
  /// (packed_bytes()) of this rank's collectives. It allocates that memory before any collective runs.
  virtual void make_room(int64_t packed_bytes) { (void)packed_bytes; }

  /// data[count] becomes the sum (or maximum) over the ranks, in place.
  virtual CollectiveTimes all_reduce(DType dtype, int64_t count, void* data,
                                     Reduction reduction = Reduction::Sum) = 0;
  /// shard = this rank's range of the sum of all `full`.
  virtual CollectiveTimes reduce_scatter(DType dtype, const Slicing& slicing, const void* full,
                                         void* shard) = 0;
  /// full = all ranks' shards, each in its place.
  virtual CollectiveTimes all_gather(DType dtype, const Slicing& slicing, const void* shard, void* full) = 0;
  /// Changes slices along from_dim of a tensor of global shape `shape` to slices along to_dim.
  virtual CollectiveTimes all_to_all(DType dtype, const Shape& shape, int from_dim, int to_dim,
                                     const void* from, void* to) = 0;
  /// Copies data[count] of rank `root` to every rank.
  virtual CollectiveTimes broadcast(DType dtype, int64_t count, int root, void* data) = 0;
  /// Returns when every rank has called it.
  virtual void barrier() = 0;

  /// Wakes every rank that waits in a collective of this group, and makes every later call throw a Cancelled
  /// Error with `why`. A failed rank calls it, or any code that cancels. Safe from any thread, any number of
  /// times.
  virtual void abort(const std::string& why) = 0;

  /// The rank of this group that failed asynchronously: the one that its FailedRank names. A device that
  /// throws the same failure from its marks does not say which group it is of. Safe from any thread.
  virtual std::optional<int> failed_rank() { return std::nullopt; }
};

/// Makes one communicator per rank, for ranks that are threads of this process. `ranks` >= 1. Waiting ranks
/// spin for a moment only if every computing thread can have its own core; otherwise they sleep. `threads` is
/// the number of all computing threads if the group is one of several, 0 if it is the only one.
/// `patience_seconds` is how long ranks wait for one another.
std::vector<std::unique_ptr<Communicator>> make_local_group(int ranks, int threads = 0,
                                                            double patience_seconds = kNoTimeout);

}  // namespace shardlens
