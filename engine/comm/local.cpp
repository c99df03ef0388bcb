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

#include "engine/comm/barrier.h"
#include "engine/comm/comm.h"
#include "engine/comm/local_kernels.h"
#include "engine/comm/request.h"
#include "engine/config/clock.h"
#include "engine/config/counted.h"
#include "engine/config/error.h"
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

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Group> group, int rank)
      : group_(std::move(group)), rank_(rank), ins_(group_->slots.size()), outs_(group_->slots.size()) {}

  int rank() const override { return rank_; }
  int ranks() const override { return group_->ranks(); }

  CommunicatorInfo info() const override {
    return {"local", fmt::format("{}, {}", counted(ranks(), "CPU thread"), counted(group_->cores, "core"))};
  }

  CollectiveTimes all_reduce(DType dtype, int64_t count, void* data, Reduction reduction) override {
    const bool max = reduction == Reduction::Max;
    return collective(all_reduce_request(dtype, count, reduction), data, data, [&]() -> int64_t {
      if (ranks() == 1) return 0;
      const Range mine = reduced_range(dtype, count, ranks(), rank_);
      (max ? max_in_order : sum_in_order)(dtype, ins_, mine.begin, outs_, mine.begin, mine.size());
      return 2 * others() * mine.size() *
             element_bytes(dtype);  // fetched from each other rank, and written back
    });
  }

  CollectiveTimes reduce_scatter(DType dtype, const Slicing& slicing, const void* full,
                                 void* shard) override {
    return collective(sliced_request(Call::ReduceScatter, dtype, slicing), full, shard, [&] {
      const Range mine = shard_range(slicing.extent, ranks(), rank_);
      const int64_t row = mine.size() * slicing.inner;
      int64_t fetched = 0;
      for (int64_t o = 0; o < slicing.outer; ++o) {
        const int64_t from = (o * slicing.extent + mine.begin) * slicing.inner;
        sum_in_order(dtype, ins_, from, {&shard, 1}, o * row, row);
        fetched += others() * row * element_bytes(dtype);
      }
      return fetched;
    });
  }

  CollectiveTimes all_gather(DType dtype, const Slicing& slicing, const void* shard, void* full) override {
    return collective(sliced_request(Call::AllGather, dtype, slicing), shard, full, [&] {
      const int64_t element = slicing.inner * element_bytes(dtype);
      int64_t fetched = 0;
      for_each_rank([&](int other) {
        const Range theirs = shard_range(slicing.extent, ranks(), other);
        const int64_t row = theirs.size() * element;
        copy_rows(slicing.outer, row, in_of(other), row, at(full, theirs.begin * element),
                  slicing.extent * element);
        if (other != rank_) fetched += slicing.outer * row;
      });
      return fetched;
    });
  }

  CollectiveTimes all_to_all(DType dtype, const Shape& shape, int from_dim, int to_dim, const void* from,
                             void* to) override {
    const Request request = exchange_request(dtype, shape, from_dim, to_dim);
    return collective(request, from, to, [&] {
      int64_t fetched = 0;
      for_each_rank([&](int other) {
        const ExchangedBlock block(request, ranks(), other, rank_);
        if (block.bytes() == 0) return;
        if (other != rank_) fetched += block.bytes();
        for (int64_t o = 0; o < block.outer; ++o) {
          const auto source = block.in_source(o), target = block.in_target(o);
          copy_rows(block.rows, block.row_bytes, at(in_of(other), source.begin_bytes), source.stride_bytes,
                    at(to, target.begin_bytes), target.stride_bytes);
        }
      });
      return fetched;
    });
  }

  CollectiveTimes broadcast(DType dtype, int64_t count, int root, void* data) override {
    return collective(broadcast_request(dtype, count, root, ranks()), data, data, [&] {
      const int64_t bytes = count * element_bytes(dtype);
      if (rank_ == root) return int64_t{0};
      copy_rows(1, bytes, in_of(root), bytes, data, bytes);
      return bytes;
    });
  }

  void barrier() override {
    collective({}, nullptr, nullptr, [] { return 0; });
  }

  void abort(const std::string& why) override { group_->fail(Error(ErrorKind::Cancelled, why)); }

 private:
  // The protocol at the top of this file around one rank's `work`. `work` only moves memory, never throws,
  // and returns the bytes it carried between this rank's buffers and the others'. Empty tensors may have no
  // address, so `work` does not run for them.
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

  int64_t others() const { return ranks() - 1; }
  const void* in_of(int rank) const { return ins_[static_cast<size_t>(rank)]; }

  // Visits all ranks, beginning with this one, so that ranks do not all read the same memory at the same
  // time.
  template <typename Visit>
  void for_each_rank(const Visit& visit) const {
    for (int step = 0; step < ranks(); ++step) visit((rank_ + step) % ranks());
  }

  const std::shared_ptr<Group> group_;
  const int rank_;
  uint64_t meetings_ = 0;  // barriers that it has reached
  // The pointers of all ranks during a call. They are members so that a call allocates nothing.
  std::vector<const void*> ins_;
  std::vector<void*> outs_;
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
