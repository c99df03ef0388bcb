// Where ranks live: all in this process, or some in others. An executor takes its seats in a world and learns
// there which ranks it runs itself, and how they reach each other.
//
// In a world of several processes one of them, the first, makes every decision: it runs a verb or a training
// loop as it would alone, and its executors pass on to the processes of the other ranks what they are told
// (Seats' calls). There an executor like it runs the same Program on the ranks that live there, and what it
// did comes back (SeatsListener). So nothing but the two ends of this interface knows of processes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/comm.h"
#include "engine/config/error.h"
#include "engine/device/device.h"
#include "engine/record/trace.h"
#include "engine/runtime/batch.h"
#include "engine/runtime/run_failure.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

class Backend;

/// One rank's places in the groups it is in; null where the rank lives elsewhere.
struct RankGroups {
  std::unique_ptr<Communicator> neighbours;  ///< the T that share a layer
  std::unique_ptr<Communicator> copies;      ///< the D that hold what it holds, of other replicas
  std::unique_ptr<Communicator> holders;     ///< those of the T that hold the same slices
};

/// What a rank elsewhere has done since it was told to start, up to where it stands now.
struct RankReport {
  int rank = 0;                   ///< of all, replica by replica
  uint64_t start = 0;             ///< which start() it answers; 0: its memory is fed
  std::vector<StepEvent> events;  ///< of the pass, of all steps that are done
  BytesByKind high_water_bytes{};
};

/// Told by Seats what happens elsewhere, from a thread of theirs.
class SeatsListener {
 public:
  virtual ~SeatsListener() = default;
  virtual void on_report(const RankReport& report) = 0;
  /// As StepObserver::on_tensor().
  virtual void on_tensor_elsewhere(int rank, StepId step, TensorId tensor, const void* data) = 0;
  /// What rank `rank` threw; `what` is null where it is not known.
  virtual void on_failure_elsewhere(int rank, ErrorKind kind, const std::string& message,
                                    const std::optional<RunFailure>& what) = 0;
};

/// An executor's ranks in a world, numbered replica by replica. Word to the ranks elsewhere that are followed
/// from here; where there are none these calls do nothing. They come from one thread at a time.
class Seats {
 public:
  virtual ~Seats() = default;

  virtual bool is_here(int rank) const = 0;
  /// Whether this is the process that follows and commands the ranks elsewhere.
  virtual bool commands() const { return true; }
  virtual std::vector<RankGroups> make_groups() = 0;  ///< [rank]
  /// The cores that each rank here may compute on.
  virtual int cores_per_rank() const = 0;
  /// What rank `rank`, which is here, computes on; in its own thread. `threads` is how many a CPU's may have.
  virtual std::unique_ptr<Device> make_device(int rank, int threads) {
    return (void)rank, make_cpu_device(threads);
  }

  /// What is to be said of the ranks' communicator beside what it says itself.
  virtual CommunicatorInfo announce(CommunicatorInfo info) const { return info; }
  /// What the ranks' clocks have differed by so far, at most; 0: one clock times all of them.
  virtual double clock_residual_seconds() const { return 0; }

  /// From now on, until it is closed, `listener` is told.
  virtual void open(SeatsListener& listener) { (void)listener; }
  virtual void close() {}
  /// Executor::start() number `start`, on the clock of this process; `wanted`, by TensorId: whose data is
  /// asked for, empty for none.
  virtual void start(uint64_t start, size_t target, double begin_seconds, std::vector<bool> wanted) {
    (void)start, (void)target, (void)begin_seconds, (void)wanted;
  }
  virtual void rewind() {}
  virtual void next_pass() {}
  virtual void set_inputs(const PassInputs& inputs) { (void)inputs; }
  /// A rank's piece of a tensor, of `bytes` bytes.
  virtual void read(int rank, TensorId tensor, void* host, size_t bytes) const {
    (void)rank, (void)tensor, (void)host, (void)bytes;
  }
  virtual void write(int rank, TensorId tensor, const void* host, size_t bytes) {
    (void)rank, (void)tensor, (void)host, (void)bytes;
  }
  virtual void cancel(const std::string& why) { (void)why; }
  /// Since anything came from a rank elsewhere that was set to work: one that works says so several times a
  /// second.
  virtual double silent_seconds(int rank) const { return (void)rank, 0; }
  /// Whether the process of a rank elsewhere is known to have ended.
  virtual bool has_ended(int rank) const { return (void)rank, false; }
  /// Whether this process was told to end (ProcessPatience).
  virtual bool is_told_to_end() const { return false; }
};

/// Seats for ranks that are threads of this process and compute on `backend`.
std::unique_ptr<Seats> take_local_seats(std::shared_ptr<const Plan> plan, std::shared_ptr<Backend> backend);

class World {
 public:
  virtual ~World() = default;
  /// Seats for every rank of `plan`; `lender` are those of the executor whose memory it runs over, or null.
  /// Throws a request Error where the world has not as many.
  virtual std::unique_ptr<Seats> take_seats(std::shared_ptr<const Plan> plan, const Seats* lender) = 0;
};

/// The world whose ranks are threads of this process.
World& local_world();

/// The world `plan` runs in: the one this process joined, and for one rank alone, which has nobody to talk
/// to, always this process.
World& world_of(const Plan& plan);

/// Makes `world` the one this process joined; null: it leaves. Not while an executor lives.
void set_joined_world(World* world);

}  // namespace shardlens
