// The communicator over threads of one process: ranks read and write each other's buffers directly.
//
// The protocol, the same for every collective:
//   1. A rank publishes its request and its pointers in its own slot, and waits at the first barrier (from
//      arrival to all arrived).
//   2. Every rank reads all slots. If the requests differ, every rank sees it and throws the same Error
//      before any buffer is touched.
//   3. Each rank works on its own part. All-reduce: rank r sums chunk r over all buffers, in rank order, and
//      writes it into all buffers, in one pass without a temporary. Reduce-scatter: it sums its own shard.
//      The other collectives: it copies what it needs from the other ranks' buffers. Between the two barriers
//      no byte is written by one rank and touched by another, so the work needs no locks.
//   4. All ranks wait at the second barrier (done). After that a rank's slot and buffers are its own again.
//
// Failure: abort() breaks the first barrier only, and either all ranks pass it or none. After it, every rank
// only moves memory and is certain to reach the second barrier, which therefore cannot be broken. So no rank
// leaves a collective while another rank may touch its buffers: a rank may free or reuse a buffer as soon as
// its call has returned or thrown, and not before. A group that has failed stays failed.
//
// A rank that does not come: each slot counts the barriers that its rank has reached. A rank that has waited
// too long reads from the counts which ranks are missing and fails the group with their names, and all ranks
// leave. The second barrier is given up in the same way. In that case a thread hangs while it moves memory,
// and it is unknown which memory it still touches.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "engine/base/clock.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/comm/barrier.h"
#include "engine/comm/comm.h"
#include "engine/comm/direct.h"
#include "engine/comm/request.h"
#include "engine/device/device.h"

namespace shardlens {

namespace {

constexpr int64_t kCacheLineBytes = 64;

// One rank's data for step 1. It has its own cache lines, because ranks publish at the same time.
struct alignas(kCacheLineBytes) Slot {
  Request request;
  const void* in = nullptr;
  void* out = nullptr;
  double arrival_seconds = 0;
  std::atomic<uint64_t> meetings = 0;  // barriers that this rank has reached, two a collective; only this
                                       // field is read before all ranks have come
};

class Group {
 public:
  Group(int ranks, int threads, int available, double patience_seconds)
      : slots(static_cast<size_t>(ranks)),
        barrier(ranks, threads <= available, patience_seconds),
        cores(available) {}

  int ranks() const { return static_cast<int>(slots.size()); }

  /// On return the group is broken. Only the first failure is kept, because later ones are its consequences.
  void fail(const Error& error) {
    keep(error, {}, 0);
    barrier.break_up();
  }

  /// The same, if ranks have not reached the barrier that this rank waits at.
  void lose(const Request& request, uint64_t meeting, double waited_seconds) {
    std::vector<int> missing;
    for (size_t rank = 0; rank < slots.size(); ++rank) {
      if (slots[rank].meetings.load(std::memory_order_relaxed) < meeting)
        missing.push_back(static_cast<int>(rank));
    }
    if (missing.empty()) return;  // the last one has just come
    const std::string message = fmt::format(
        "rank{} {} did not {} the {} in {:.1f} s", missing.size() == 1 ? "" : "s", fmt::join(missing, ", "),
        meeting % 2 == 1 ? "come to" : "finish", describe(request), waited_seconds);
    keep(run_error(message), std::move(missing), waited_seconds);
    barrier.give_up();
  }

  [[noreturn]] void throw_failure() {
    const std::lock_guard lock(mutex_);
    if (!lost_.empty()) throw LostRanks(why_, lost_, waited_seconds_);
    throw Error(kind_, why_);
  }

  /// Throws the same Error on all ranks if their requests differ.
  void check_agreement() {
    const auto error = disagreement(
        ranks(), [this](int rank) -> const Request& { return slots[static_cast<size_t>(rank)].request; });
    if (!error) return;
    // The group is broken before any rank leaves, so no rank can publish again while another still compares.
    fail(*error);
    throw *error;
  }

  std::vector<Slot> slots;
  Barrier barrier;
  const int cores;

 private:
  void keep(const Error& error, std::vector<int> lost, double waited_seconds) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(failed_, true)) return;
    kind_ = error.kind();
    why_ = error.what();
    lost_ = std::move(lost);
    waited_seconds_ = waited_seconds;
  }

  std::mutex mutex_;
  bool failed_ = false;
  ErrorKind kind_ = ErrorKind::Cancelled;
  std::string why_;
  std::vector<int> lost_;
  double waited_seconds_ = 0;
};

class LocalCommunicator final : public DirectCommunicator<LocalCommunicator> {
 public:
  LocalCommunicator(std::shared_ptr<Group> group, int rank)
      : DirectCommunicator(rank, group->ranks()), group_(std::move(group)) {}

  CommunicatorInfo info() const override {
    return {"local", fmt::format("{}, {}", counted(ranks(), "CPU thread"), counted(group_->cores, "core"))};
  }

  void abort(const std::string& why) override { group_->fail(Error(ErrorKind::Cancelled, why)); }

 private:
  friend DirectCommunicator;

  // The protocol at the top of this file around one rank's `work`. Empty tensors may have no address, so
  // `work` does not run for them.
  template <typename Work>
  CollectiveTimes collective(const Request& request, const void* in, void* out, const Work& work) {
    check_request(request);
    CollectiveTimes times;
    times.arrival_seconds = now_seconds();
    if (group_->barrier.broken()) group_->throw_failure();
    Slot& mine = group_->slots[static_cast<size_t>(rank_)];
    mine.request = request;
    mine.in = in;
    mine.out = out;
    mine.arrival_seconds = times.arrival_seconds;
    mine.meetings.store(++meetings_, std::memory_order_relaxed);
    const auto late = [this, &request](double seconds) { group_->lose(request, meetings_, seconds); };
    if (!group_->barrier.pass(late)) group_->throw_failure();
    group_->check_agreement();
    // The time when the last rank came, not when this rank was woken: it is the same on every rank.
    times.all_arrived_seconds = times.arrival_seconds;
    for (size_t other = 0; other < ins_.size(); ++other) {
      times.all_arrived_seconds = std::max(times.all_arrived_seconds, group_->slots[other].arrival_seconds);
      ins_[other] = group_->slots[other].in;
      outs_[other] = group_->slots[other].out;
    }
    if (!request.is_empty()) times.sent_bytes = work();
    mine.meetings.store(++meetings_, std::memory_order_relaxed);
    if (!group_->barrier.pass_unbroken(late)) group_->throw_failure();
    times.done_seconds = now_seconds();
    return times;
  }

  const std::shared_ptr<Group> group_;
  uint64_t meetings_ = 0;  // barriers that it has reached
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_local_group(int ranks, int threads, double patience_seconds) {
  if (ranks < 1) throw request_error(fmt::format("a group of {} ranks: give 1 or more", ranks));
  const auto group =
      std::make_shared<Group>(ranks, std::max(ranks, threads), available_cores(), patience_seconds);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < ranks; ++rank)
    communicators.push_back(std::make_unique<LocalCommunicator>(group, rank));
  return communicators;
}

}  // namespace shardlens
