// The state that the ranks of a group over NCCL share in one process: how the group starts, its first
// failure, and a thread that watches the ranks. The watch asks NCCL for errors that appear later, and looks
// for a collective that a rank here has reached and that is not done in time. What the watch finds, or the
// reason given to abort(), becomes the group's failure; only the first failure is kept. Every rank's device
// learns it and throws it from its marks. Every rank's communicator is aborted, which ends work that hangs on
// the GPU.
//
// A communicator ends in a thread of its own, because freeing may wait for the other ranks' end, and an abort
// also for work that hangs in another group, until that group is aborted too. If the rank's work is done and
// the group has not failed, NCCL finalizes and destroys it, else it aborts it. The group's last communicator
// waits some seconds for all of them. NCCL may never return; then the thread is let go (UncertainCalls).
//
// A call to NCCL is made under a lock of its own, which keeps it apart from the end. The watch does not wait
// for that lock: it also notices a call that does not return, as calls of blocking communicators may
// (NCCL_COMM_BLOCKING=1). Such a communicator cannot be aborted before its call returns; the others are.
//
// Ranks synchronize on the host before each collective. The hosts run ahead of their GPUs, so the GPUs need
// not wait for this. Ranks that are threads synchronize after it too. A rank's part of a collective keeps the
// GPU busy until all ranks have enqueued theirs, and many CUDA calls (for memory, a kernel's first launch)
// may wait for running work. So between the two barriers a rank makes NCCL's call and no other, and every
// part is enqueued for certain.
//
// If the other ranks are processes, NCCL starts from an id that rank 0 hands out. The watch handles only work
// that the GPUs do not finish, and it reports last: the first process hears from all others, and knows better
// which one is silent.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/base/clock.h"
#include "engine/comm/barrier.h"
#include "engine/comm/host_meeting.h"
#include "engine/comm/nccl_library.h"
#include "engine/comm/request.h"
#include "engine/comm/uncertain_calls.h"
#include "engine/device/cuda/cuda_device.h"

namespace shardlens {

class NcclGroup {
 public:
  /// A collective that has been asked for, on one rank.
  struct Asked {
    int64_t number = 0;  ///< counts the rank's collectives, from 0
    Request request;
    cudaEvent_t arrived = nullptr, done = nullptr;
    bool begun = false;           ///< all of it is on the stream, followed by `done`
    double arrived_seconds = -1;  ///< when the watch first saw that the rank had reached it
  };

  /// One rank as the watch sees it. No thread calls CUDA or NCCL with `mutex` held, because the call may wait
  /// for work that only abort() ends.
  struct Member {
    std::mutex mutex;
    std::mutex looking;  ///< held while the watch asks CUDA about the rank's events; taken before the others
    std::mutex calling;  ///< held during calls to NCCL with `comm`, which it protects
    ncclComm_t comm = nullptr;
    std::atomic<double> called_seconds =
        -1;                              ///< when the rank made the call that it is in; -1: it is in none
    cuda::CudaDevice* device = nullptr;  ///< not null: the rank has started, and not ended
    bool attached = false;               ///< has joined the group
    double left_seconds = -1;            ///< when NCCL reported that another rank is gone
    int64_t asked = 0;
    Request meets_for;                   ///< the request it brought to the last barrier
    std::atomic<uint64_t> meetings = 0;  ///< barriers it has reached, if ranks are threads: two a collective
    std::deque<Asked> pending;
    std::vector<cudaEvent_t> spare;

    /// Makes the rank's next call to NCCL, with a reference to its communicator.
    template <class Call>
    void call(const Call& call) {
      const std::lock_guard lock(calling);
      struct Noted {
        explicit Noted(std::atomic<double>& of) : since(of) { since = now_seconds(); }
        ~Noted() { since = -1; }
        std::atomic<double>& since;
      };
      const Noted noted(called_seconds);
      call(comm);
    }
    /// Returns the communicator, which the caller must end; null: another thread does.
    ncclComm_t take_comm();

    void make_events(int count);  ///< adds them to `spare`
    void take_events(Asked& of);  ///< takes spare events, or makes new ones
    /// Returns the oldest collective that is not done, with the time when it was seen to arrive. Moves the
    /// events of finished ones to `spare`. Only the watch calls it, with `looking` held: no other thread
    /// takes from `pending` meanwhile.
    std::optional<Asked> oldest_pending();
    std::optional<Asked> front();
  };

  /// `elsewhere`: the barrier with ranks in other processes. Null: all ranks are in this process, and with
  /// `spins` they watch for one another before they sleep (Barrier).
  NcclGroup(int count, double patience, bool spins, std::unique_ptr<HostMeeting> elsewhere = nullptr);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  int ranks() const { return ranks_; }
  /// How long a rank waits until the group has started and is connected: longer than for a collective.
  double start_patience_seconds() const;
  /// Returns the state of rank `rank`, which must be in this process.
  Member& member(int rank) { return *members_[meeting_ ? 0 : static_cast<size_t>(rank)]; }

  /// Returns NCCL's id of this group, the same for all ranks. The first rank that asks makes it, or rank 0 if
  /// ranks are processes.
  ncclUniqueId id();
  /// Returns when all ranks have come with the same request. Throws the group's failure if there is one, for
  /// example ranks that did not come in time or came with another request.
  void meet(int rank, const Request& request);
  /// Returns when the ranks that are threads of this process have all made NCCL's call for their part of
  /// `request`.
  void part(int rank, const Request& request);

  /// Ends a rank's communicator, and then calls `free`, which frees what its collectives used. `is_done`: all
  /// that the rank asked for is done.
  void end(int rank, bool is_done, std::function<void()> free);

  /// Gives the group up, unless it is given up already. `failure` is an Error or of a derived class.
  template <class Failure>
  void fail(const Failure& failure) {
    give_up(std::make_exception_ptr(failure), failure.what());
  }
  /// The same, with a message that names the ranks that did not come to the group's start, or says that NCCL
  /// did not start.
  void fail_at_the_begin();
  void throw_failure();
  /// Returns the rank that the failure is of, if it is one rank's.
  std::optional<int> failed_rank();

  /// Returns the state that NCCL reports for a communicator, or the error of that query.
  static ncclResult_t state_of(ncclComm_t comm);
  static bool is_error(ncclResult_t state) { return state != ncclSuccess && state != ncclInProgress; }
  /// True if the error is about a rank in another process. A run that has lost a rank soon reports it by
  /// itself, with its name.
  bool speaks_of_another(ncclResult_t error) const { return meeting_ && error == ncclRemoteError; }

 private:
  void give_up(const std::exception_ptr& error, const std::string& why);
  void hand_out(ncclUniqueId& id);
  void pass(int rank, const Request& request);
  LostRanks lost_ranks(const std::vector<int>& lost, const Request& request) const;
  std::vector<int> missing(int64_t number);
  void watch();
  bool has_failed();
  void look_at(int rank);
  void look_at_call(int rank);

  const std::unique_ptr<HostMeeting> meeting_;
  std::vector<std::shared_ptr<Member>> members_;  ///< those in this process; also of threads that end them
  const int ranks_;
  const double patience_seconds_;
  Barrier barrier_;  ///< for ranks that are threads

  std::mutex beginning_;  ///< protects id_ only
  std::optional<ncclUniqueId> id_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::exception_ptr failure_;
  bool quit_ = false;
  std::thread watch_;
  UncertainCalls ends_;
};

}  // namespace shardlens
