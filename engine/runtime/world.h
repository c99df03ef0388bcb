// Where the ranks of a run live: all in this process, or some in other processes. An executor takes its seats
// in a world. The seats tell it which ranks it runs itself, and give its ranks their communicators.
//
// In a world of several processes the first process makes every decision. It runs a verb or a training loop
// exactly like a single process. Its executors pass every call on to the processes of the other ranks (the
// methods of Seats). There an executor runs the same Program on that process's ranks, and reports back what
// it did (SeatsListener). Only the two ends of this interface deal with processes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/comm.h"
#include "engine/device/device.h"
#include "engine/record/trace.h"
#include "engine/runtime/batch.h"
#include "engine/runtime/run_failure.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

class Backend;

/// One rank's communicators, one for each group that it is in; null if the rank lives in another process.
struct RankGroups {
  std::unique_ptr<Communicator> layer;       ///< the T ranks that share a layer
  std::unique_ptr<Communicator> replicas;    ///< the D ranks that hold the same shards, one in each replica
  std::unique_ptr<Communicator> same_slice;  ///< those of the T ranks that hold the same slices
};

/// What a rank in another process has done since its last start(), up to its present position.
struct RankReport {
  int rank = 0;                   ///< world rank: replica by replica
  uint64_t start = 0;             ///< the number of the start() that this answers; 0: its memory is fed
  std::vector<StepEvent> events;  ///< of this pass, one for every step that is done
  BytesByKind high_water_bytes{};
};

/// Receives what happens in other processes. Seats calls it from a thread of its own.
class SeatsListener {
 public:
  virtual ~SeatsListener() = default;
  virtual void on_report(const RankReport& report) = 0;
  /// As StepObserver::on_tensor().
  virtual void on_tensor_elsewhere(int rank, StepId step, TensorId tensor, const void* data) = 0;
  /// Rank `rank` threw an error with this `message`; `what` is null if the ranks and the step are not known.
  virtual void on_failure_elsewhere(int rank, ErrorKind kind, const std::string& message,
                                    const std::optional<RunFailure>& what) = 0;
};

/// An executor's ranks in a world, numbered replica by replica. The calls from open() on are passed on to the
/// ranks in other processes that this process follows; if there are none, they do nothing. They come from one
/// thread at a time.
class Seats {
 public:
  virtual ~Seats() = default;

  virtual bool is_here(int rank) const = 0;
  /// True if this process follows and commands the ranks in other processes.
  virtual bool commands() const { return true; }
  virtual std::vector<RankGroups> make_groups() = 0;  ///< [rank]
  /// The number of cores that each rank here may compute on.
  virtual int cores_per_rank() const = 0;
  /// Makes the device of rank `rank`, which lives here; called in the rank's own thread. `threads`: how many
  /// threads a CPU device may use.
  virtual std::unique_ptr<Device> make_device(int rank, int threads) {
    return (void)rank, make_cpu_device(threads);
  }

  /// Adds what these seats know about the ranks' communicator to what the communicator reports itself.
  virtual CommunicatorInfo announce(CommunicatorInfo info) const { return info; }
  /// The largest difference between the ranks' clocks so far; 0: one clock times all ranks.
  virtual double clock_residual_seconds() const { return 0; }

  /// From now on `listener` is told, until close().
  virtual void open(SeatsListener& listener) { (void)listener; }
  virtual void close() {}
  /// Passes on Executor::start() number `start`. `begin_seconds` is on the clock of this process. `wanted`,
  /// by TensorId: the tensors whose data is wanted; empty: none.
  virtual void start(uint64_t start, size_t target, double begin_seconds, std::vector<bool> wanted) {
    (void)start, (void)target, (void)begin_seconds, (void)wanted;
  }
  virtual void rewind() {}
  virtual void next_pass() {}
  virtual void set_inputs(const PassInputs& inputs) { (void)inputs; }
  /// Copies a rank's slice of a tensor, of `bytes` bytes.
  virtual void read(int rank, TensorId tensor, void* host, size_t bytes) const {
    (void)rank, (void)tensor, (void)host, (void)bytes;
  }
  virtual void write(int rank, TensorId tensor, const void* host, size_t bytes) {
    (void)rank, (void)tensor, (void)host, (void)bytes;
  }
  virtual void cancel(const std::string& why) { (void)why; }
  /// Seconds since the last message from a rank in another process that was set to work; a rank that works
  /// sends several messages a second.
  virtual double silent_seconds(int rank) const { return (void)rank, 0; }
  /// True if the process of a rank in another process is known to have ended.
  virtual bool has_ended(int rank) const { return (void)rank, false; }
  /// True if this process was told to end (ProcessPatience).
  virtual bool is_told_to_end() const { return false; }
};

/// Seats for ranks that are threads of this process and compute on `backend`.
std::unique_ptr<Seats> take_local_seats(std::shared_ptr<const Plan> plan, std::shared_ptr<Backend> backend);

class World {
 public:
  virtual ~World() = default;
  /// Returns seats for every rank of `plan`. `lender`: the seats of the executor whose memory this run uses,
  /// or null. Throws a request Error if the world has a different number of ranks.
  virtual std::unique_ptr<Seats> take_seats(std::shared_ptr<const Plan> plan, const Seats* lender) = 0;
};

/// The world whose ranks are threads of this process.
World& local_world();

/// The world that `plan` runs in: the one that this process joined. A single rank has no rank to talk to, so
/// it always runs in this process.
World& world_of(const Plan& plan);

/// Makes `world` the one that this process joined; null: the process leaves its world. Do not call it while
/// an executor lives.
void set_joined_world(World* world);

}  // namespace shardlens
