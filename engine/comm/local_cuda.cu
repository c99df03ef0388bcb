// The communicator of ranks that share a GPU. The ranks synchronize on the host, and the GPU does the work in
// each rank's stream of collectives. The host never waits for the GPU:
//   1. A rank publishes its request and its pointers, records an event after all its earlier work, and waits
//      at the first barrier. The last rank to arrive joins all: its stream waits for the other ranks' events,
//      and then it records its own event again. That joined event now stands for all ranks.
//   2. All ranks read all slots. If requests differ, all throw before any work is enqueued.
//   3. Each rank's stream waits for the joined event, and then gets the rank's own part. All-reduce: chunk r
//      of the sum, in rank order, into all buffers. Reduce-scatter: its own shard. The other collectives:
//      copies from the other ranks' buffers. Then the rank records a second event.
//   4. All ranks wait at the second barrier. The last to arrive joins the second events in the same way, and
//      each rank's stream waits for the joined event. Work that is enqueued afterwards may use the buffers
//      again.
// So all ranks together enqueue 4 (T - 1) waits a collective, not the 2 T (T - 1) of every rank waiting for
// every other. This matters because the driver takes one call for a GPU at a time, from any thread. A joined
// event is recorded again only at the next barrier of its kind, and no rank passes that barrier before all
// have enqueued their wait.
//
// The parts are the same as the local communicator's, so the bits are the same too. As there, abort() breaks
// the first barrier only, and a failure between the barriers is thrown after the second. If the last rank
// cannot join the events, it fails the group, at either barrier. Until it has, the waiting ranks can only be
// waiting for it, so that is the rank they name when they are late.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <utility>

#include "engine/base/error.h"
#include "engine/comm/barrier.h"
#include "engine/comm/carried.h"
#include "engine/comm/combine.cuh"
#include "engine/comm/local_cuda.h"
#include "engine/device/cuda/copy_rows.cuh"
#include "engine/device/cuda/cuda_order.h"

namespace shardlens {

namespace {

using cuda::check;

constexpr const char* kWhat = "a collective of ranks that share a GPU";

struct Slot {
  Request request;
  const void* in = nullptr;
  void* out = nullptr;
  int gpu = 0;
  cudaEvent_t arrived = nullptr, done = nullptr;  // on this GPU
  std::atomic<uint64_t> meetings = 0;             // barriers that this rank has reached, two a collective
};

constexpr int kNobody = -1;

class Group {
 public:
  Group(int ranks, double patience_seconds, bool spins)
      : slots(static_cast<size_t>(ranks)), barrier(ranks, spins, patience_seconds) {}
  // Runs with the last communicator's end, because a rank that is behind may still enqueue a wait for the
  // event of a rank that has gone.
  ~Group() {
    for (const Slot& slot : slots) {
      for (const cudaEvent_t event : {slot.arrived, slot.done}) {
        if (event == nullptr) continue;
        cudaSetDevice(slot.gpu);
        cudaEventDestroy(event);
      }
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void fail(const Error& error) {
    keep(std::make_exception_ptr(error));
    barrier.break_up();
  }
  /// The same, if ranks have not reached barrier number `meeting`, or one of them has not let the others
  /// pass.
  void lose(const Request& request, uint64_t meeting, double waited_seconds) {
    std::vector<int> missing;
    std::string who;
    const std::string what = meeting % 2 == 1 ? "come to" : "ask for its part of";
    for (size_t rank = 0; rank < slots.size(); ++rank) {
      if (slots[rank].meetings >= meeting && joining != static_cast<int>(rank)) continue;
      missing.push_back(static_cast<int>(rank));
      who += (missing.size() == 1 ? "" : ", ") + std::to_string(rank);
    }
    if (missing.empty()) return;  // the last one has just come
    char waited[32];
    std::snprintf(waited, sizeof waited, "%.1f s", waited_seconds);
    keep(std::make_exception_ptr(LostRanks((missing.size() == 1 ? "rank " : "ranks ") + who + " did not " +
                                               what + " the " + describe(request) + " in " + waited,
                                           missing, waited_seconds)));
    barrier.give_up();
  }
  [[noreturn]] void throw_failure() {
    const std::lock_guard lock(mutex_);
    std::rethrow_exception(failure_);
  }
  void check_agreement() {
    const auto error = disagreement(static_cast<int>(slots.size()), [this](int rank) -> const Request& {
      return slots[static_cast<size_t>(rank)].request;
    });
    if (!error) return;
    fail(*error);
    throw *error;
  }

  std::vector<Slot> slots;
  std::atomic<int> joining = kNobody;  // the rank that came last, while it joins the events
  cudaEvent_t joined = nullptr;        // at the last barrier; null: joining failed, and the group with it
  Barrier barrier;

 private:
  void keep(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
  }

  std::mutex mutex_;
  std::exception_ptr failure_;
};

class LocalCudaCommunicator final : public Communicator {
 public:
  LocalCudaCommunicator(std::shared_ptr<Group> group, int rank, std::string reason)
      : group_(std::move(group)), rank_(rank), reason_(std::move(reason)) {}

  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(group_->slots.size()); }
  CommunicatorInfo info() const override { return {"local_cuda", reason_}; }

  void attach(Device& device) override {
    device_ = dynamic_cast<cuda::CudaDevice*>(&device);
    if (device_ == nullptr)
      throw run_error("local_cuda connects ranks on GPUs, but this device is " + device.name());
    check(kWhat, "cudaSetDevice", cudaSetDevice(device_->gpu()));
    slot().gpu = device_->gpu();
    for (cudaEvent_t* event : {&slot().arrived, &slot().done})
      check(kWhat, "cudaEventCreateWithFlags", cudaEventCreateWithFlags(event, cudaEventDisableTiming));
  }

  CollectiveTimes all_reduce(DType dtype, int64_t count, void* data, Reduction reduction) override {
    return collective(all_reduce_request(dtype, count, reduction), data, data, [&] {
      if (ranks() == 1) return;
      const Range mine = reduced_range(dtype, count, ranks(), rank_);
      combine(dtype, reduction, {1, mine.size(), mine.begin, 0}, nullptr);
    });
  }

  CollectiveTimes reduce_scatter(DType dtype, const Slicing& slicing, const void* full,
                                 void* shard) override {
    return collective(sliced_request(Call::ReduceScatter, dtype, slicing), full, shard, [&] {
      const Range mine = shard_range(slicing.extent, ranks(), rank_);
      combine(dtype, Reduction::Sum,
              {slicing.outer, mine.size() * slicing.inner, mine.begin * slicing.inner,
               slicing.extent * slicing.inner},
              shard);
    });
  }

  CollectiveTimes all_gather(DType dtype, const Slicing& slicing, const void* shard, void* full) override {
    return collective(sliced_request(Call::AllGather, dtype, slicing), shard, full, [&] {
      const int64_t element = slicing.inner * element_bytes(dtype);
      for (int step = 0; step < ranks(); ++step) {
        const int other = (rank_ + step) % ranks();
        const Range theirs = shard_range(slicing.extent, ranks(), other);
        const int64_t row = theirs.size() * element;
        copy(slicing.outer, row, in_of(other), row, static_cast<char*>(full) + theirs.begin * element,
             slicing.extent * element);
      }
    });
  }

  CollectiveTimes all_to_all(DType dtype, const Shape& shape, int from_dim, int to_dim, const void* from,
                             void* to) override {
    const Request request = exchange_request(dtype, shape, from_dim, to_dim);
    return collective(request, from, to, [&] {
      for (int step = 0; step < ranks(); ++step) {
        const int other = (rank_ + step) % ranks();
        const ExchangedBlock block(request, ranks(), other, rank_);
        for (int64_t o = 0; o < block.outer && block.bytes() > 0; ++o) {
          const auto source = block.in_source(o), target = block.in_target(o);
          copy(block.rows, block.row_bytes, static_cast<const char*>(in_of(other)) + source.begin_bytes,
               source.stride_bytes, static_cast<char*>(to) + target.begin_bytes, target.stride_bytes);
        }
      }
    });
  }

  CollectiveTimes broadcast(DType dtype, int64_t count, int root, void* data) override {
    return collective(broadcast_request(dtype, count, root, ranks()), data, data, [&] {
      const int64_t bytes = count * element_bytes(dtype);
      if (rank_ != root) copy(1, bytes, in_of(root), bytes, data, bytes);
    });
  }

  void barrier() override {
    collective({}, nullptr, nullptr, [] {});
  }

  void abort(const std::string& why) override { group_->fail(Error(ErrorKind::Cancelled, why)); }

 private:
  Slot& slot() { return group_->slots[static_cast<size_t>(rank_)]; }
  const void* in_of(int rank) const { return group_->slots[static_cast<size_t>(rank)].in; }
  cudaStream_t stream() const { return device_->order().collectives(); }

  // The protocol at the top of this file around one rank's `work`, which only enqueues work on the GPU.
  template <typename Work>
  CollectiveTimes collective(const Request& request, const void* in, void* out, const Work& work) {
    check_request(request);
    check(kWhat, "cudaSetDevice", cudaSetDevice(device_->gpu()));
    Slot& own = slot();
    check(kWhat, "cudaEventRecord", cudaEventRecord(own.arrived, stream()));
    if (group_->barrier.broken()) group_->throw_failure();
    own.request = request;
    own.in = in;
    own.out = out;
    own.meetings = ++meetings_;
    const auto late = [this, &request](double seconds) { group_->lose(request, meetings_, seconds); };
    if (!group_->barrier.pass(late, [this] { join(&Slot::arrived); })) group_->throw_failure();
    group_->check_agreement();
    std::exception_ptr failure;
    try {
      wait_for_joined(own.arrived);
      if (!request.is_empty()) work();
      check(kWhat, "cudaEventRecord", cudaEventRecord(own.done, stream()));
    } catch (...) {
      failure = std::current_exception();
    }
    own.meetings = ++meetings_;
    if (!group_->barrier.pass_unbroken(late, [this] { join(&Slot::done); })) group_->throw_failure();
    if (failure) std::rethrow_exception(failure);
    wait_for_joined(own.done);
    CollectiveTimes times;
    times.sent_bytes = carried_bytes(request, ranks(), rank_);
    return times;
  }

  // Called by the last rank that reaches a barrier, before any rank leaves it.
  void join(cudaEvent_t Slot::*event) noexcept {
    group_->joining = rank_;
    group_->joined = nullptr;
    try {
      for (int other = 0; other < ranks(); ++other) {
        if (other != rank_)
          check(kWhat, "cudaStreamWaitEvent",
                cudaStreamWaitEvent(stream(), group_->slots[static_cast<size_t>(other)].*event, 0));
      }
      check(kWhat, "cudaEventRecord", cudaEventRecord(slot().*event, stream()));
      group_->joined = slot().*event;
    } catch (const Error& error) {
      group_->fail(error);
    }
    group_->joining = kNobody;
  }

  // `own`: this rank's event at the same barrier. Its stream is already behind that event.
  void wait_for_joined(cudaEvent_t own) {
    if (group_->joined == nullptr) group_->throw_failure();
    if (group_->joined == own) return;
    check(kWhat, "cudaStreamWaitEvent", cudaStreamWaitEvent(stream(), group_->joined, 0));
  }

  void copy(int64_t rows, int64_t row_bytes, const void* from, int64_t from_stride, void* to,
            int64_t to_stride) const {
    cuda::copy_rows(kWhat, stream(), rows, row_bytes, from, from_stride, to, to_stride);
  }

  // Rows of elements in a larger matrix: row r is [begin + r·stride, begin + r·stride + count).
  struct Rows {
    int64_t rows, count, begin, stride;
  };

  // Combines these rows of all ranks' `in`, and writes the result to the same places of all ranks' `out`. If
  // `shard` is given, it writes the rows there, one after the other.
  void combine(DType dtype, Reduction reduction, const Rows& rows, void* shard) const {
    if (rows.rows == 0 || rows.count == 0) return;
    cuda::with_element_type(dtype, kWhat, [&](auto zero) {
      using S = decltype(zero);
      cuda::Buffers<S> buffers;
      buffers.rows = rows.rows;
      buffers.count = rows.count;
      buffers.from_stride = rows.stride;
      buffers.to_stride = shard == nullptr ? rows.stride : rows.count;
      bool aligned = true;
      for (const Slot& each : group_->slots) {
        buffers.from[buffers.from_count++] = static_cast<const S*>(each.in) + rows.begin;
        if (shard == nullptr) buffers.to[buffers.to_count++] = static_cast<S*>(each.out) + rows.begin;
      }
      if (shard != nullptr) buffers.to[buffers.to_count++] = static_cast<S*>(shard);
      for (int i = 0; i < buffers.from_count; ++i)
        aligned &= cuda::rows_aligned<S>(rows.rows == 1 ? 0 : buffers.from_stride, buffers.from[i]);
      for (int i = 0; i < buffers.to_count; ++i)
        aligned &= cuda::rows_aligned<S>(rows.rows == 1 ? 0 : buffers.to_stride, buffers.to[i]);
      cuda::launch_combine(kWhat, stream(), buffers, aligned, reduction);
    });
  }

  const std::shared_ptr<Group> group_;
  const int rank_;
  const std::string reason_;
  cuda::CudaDevice* device_ = nullptr;
  uint64_t meetings_ = 0;  // barriers that it has reached
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_local_cuda_group(int ranks, const std::string& reason,
                                                                 double patience_seconds, bool spins) {
  if (ranks < 1 || ranks > cuda::kMostCombined)
    throw request_error("a group of " + std::to_string(ranks) + " ranks on one GPU: give 1 to " +
                        std::to_string(cuda::kMostCombined));
  const auto group = std::make_shared<Group>(ranks, patience_seconds, spins);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < ranks; ++rank)
    communicators.push_back(std::make_unique<LocalCudaCommunicator>(group, rank, reason));
  return communicators;
}

}  // namespace shardlens
