// What the ranks of a group over NCCL share in one process: how it begins, what of it failed first, and a
// watch beside the ranks. The watch asks NCCL for errors that came later, and looks for a collective that a
// rank here has come to and that has not been done in time. What it finds, or what abort() says, is the
// group's failure, the first one stays: it is told to every rank's device, whose marks throw it, and every
// rank's communicator is aborted, which ends what hangs on the GPU. Nobody waits for that: what is freed with
// a group's last communicator may wait for what hangs in another group, until that is aborted too.
//
// Ranks meet on the host before each collective; the hosts run ahead of their GPUs, so the GPUs need not wait
// for it. Ranks that are threads meet behind it too. A rank's part of a collective keeps the GPU busy until
// all ranks have asked for theirs, and much that a host asks of CUDA (memory, a kernel's first launch) may
// wait for what runs: between the two meetings nobody asks for anything but NCCL's part, so it always comes.
//
// Where the other ranks are processes, NCCL begins by an id that rank 0 hands out. Only what the GPUs do not
// finish is left to the watch, and it speaks last: the first process, which hears all, knows better which one
// is silent.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/comm/barrier.h"
#include "engine/comm/host_meeting.h"
#include "engine/comm/nccl_library.h"
#include "engine/comm/request.h"
#include "engine/device/cuda/cuda_device.h"

namespace shardlens {

class NcclGroup {
 public:
  /// A collective that has been asked for, on one rank.
  struct Asked {
    int64_t number = 0;  ///< of the rank's collectives, from 0
    Request request;
    cudaEvent_t arrived = nullptr, done = nullptr;
    bool begun = false;           ///< all of it is on the stream, `done` behind it
    double arrived_seconds = -1;  ///< when the watch first saw that the rank had come to it
  };

  /// One rank as the watch sees it. Its lock also keeps abort() apart from the rank's calls: nobody asks CUDA
  /// for anything under it, which may wait for what only abort() ends.
  struct Member {
    std::mutex mutex;
    std::mutex looking;  ///< held while the watch asks CUDA about the rank's events; taken before `mutex`
    ncclComm_t comm = nullptr;
    cuda::CudaDevice* device = nullptr;
    bool attached = false;     ///< has come to the first meeting
    double left_seconds = -1;  ///< when NCCL said that another rank is gone
    int64_t asked = 0;
    Request meets_for;                   ///< the request it came to the last meeting with
    std::atomic<uint64_t> meetings = 0;  ///< it has come to, where ranks are threads: two a collective
    std::deque<Asked> pending;
    std::vector<cudaEvent_t> spare;

    void make_events(int count);  ///< spare ones
    void take_events(Asked& of);  ///< spare ones, or new ones
    /// The oldest that is not done, with when it was seen to have come; moves those that are to the spare
    /// ones. With `looking` held, by the watch alone: nobody else takes from `pending` meanwhile.
    std::optional<Asked> oldest_pending();
    std::optional<Asked> front();
  };

  /// `elsewhere`: where the other ranks are met; null: they are in this process, and with `spins` they watch
  /// for one another before they sleep (Barrier).
  NcclGroup(int count, double patience, bool spins, std::unique_ptr<HostMeeting> elsewhere = nullptr);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  int ranks() const { return ranks_; }
  double patience_seconds() const { return patience_seconds_; }
  /// Of rank `rank`, which is here.
  Member& member(int rank) { return *members_[meeting_ ? 0 : static_cast<size_t>(rank)]; }

  /// The same for all ranks, made by the first that asks, or by rank 0.
  ncclUniqueId id();
  /// Returns when all ranks have come with the same request. Throws what the group was given up for, such as
  /// ranks that did not come in time or came with another one.
  void meet(int rank, const Request& request);
  /// Returns when the ranks that are threads of this process have all asked NCCL for their part of `request`.
  void part(int rank, const Request& request);

  /// Gives the group up, unless it has been: `failure` is an Error, or one of its kinds.
  template <class Failure>
  void fail(const Failure& failure) {
    give_up(std::make_exception_ptr(failure), failure.what());
  }
  /// The same for those who did not come to the group's first meeting, or for NCCL, which did not begin.
  void fail_at_the_begin();
  void throw_failure();

  /// What NCCL says of a communicator, or why it cannot say.
  static ncclResult_t state_of(ncclComm_t comm);
  static bool is_error(ncclResult_t state) { return state != ncclSuccess && state != ncclInProgress; }
  /// Of ranks elsewhere: a run that has lost one says so by itself soon, and which.
  bool speaks_of_another(ncclResult_t error) const { return meeting_ && error == ncclRemoteError; }

 private:
  void give_up(const std::exception_ptr& error, const std::string& why);
  void hand_out(ncclUniqueId& id);
  void pass(int rank, const Request& request);
  LostRanks lost_ranks(const std::vector<int>& lost, const Request& request) const;
  std::vector<int> missing(int64_t number);
  void watch();
  void look_at(int rank);

  const std::unique_ptr<HostMeeting> meeting_;
  std::vector<std::unique_ptr<Member>> members_;  ///< those that are here
  const int ranks_;
  const double patience_seconds_;
  Barrier barrier_;  ///< of ranks that are threads

  std::mutex beginning_;  ///< of what follows it alone
  std::optional<ncclUniqueId> id_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::exception_ptr failure_;
  bool quit_ = false;
  std::thread watch_;
  std::vector<std::jthread> aborts_;
};

}  // namespace shardlens
