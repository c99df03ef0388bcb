// Ranks with a GPU each, over NCCL. No call waits for the GPU or for other ranks: communicators are
// non-blocking, and what is asked for goes into the rank's order of collectives. NCCL may put it there after
// its call has returned, so what belongs behind it (a copy out of scratch memory, an event) is asked for when
// the communicator is no longer in progress.
//
// Slices that are uneven, or that do not lie one behind the other, travel through a packed copy in scratch
// memory, rank by rank; it grows to the largest in the first pass, and all of it is kept. What becomes of a
// rank that fails or does not come is in nccl_group.h.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "engine/comm/carried.h"
#include "engine/comm/nccl.h"
#include "engine/comm/nccl_group.h"
#include "engine/comm/nccl_library.h"
#include "engine/config/clock.h"
#include "engine/config/error.h"
#include "engine/device/cuda/copy_rows.cuh"
#include "engine/device/cuda/cuda_order.h"

namespace shardlens {

namespace {

using cuda::check;

constexpr const char* kWhat = "a collective by NCCL";
constexpr auto kPollInterval = std::chrono::microseconds(200);
// NCCL has most calls on the stream by the time a thread has looked so often, without having slept.
constexpr int kLooksAwake = 1000;
// The blocks of NCCL's kernels on a GPU that ranks share, all of theirs together: those of all ranks wait for
// one another, so they must find room at once, beside the steps.
constexpr int kBlocksOfAGpu = 32;

ncclDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::Fp32:
      return ncclFloat32;
    case DType::Fp64:
      return ncclFloat64;
    case DType::Fp16:
      return ncclFloat16;
    case DType::Bf16:
      return ncclBfloat16;
    case DType::Int32:
      break;
  }
  return ncclInt32;
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(std::shared_ptr<NcclGroup> group, int rank, std::string reason)
      : group_(std::move(group)), rank_(rank), reason_(std::move(reason)) {}

  ~NcclCommunicator() override {
    NcclGroup::Member& own = member();
    const std::lock_guard lock(own.mutex);
    // Nothing is under way any more: this frees what it has without asking other ranks.
    if (own.comm != nullptr) nccl_library().abort(own.comm);
    own.comm = nullptr;
    if (own.device == nullptr) return;
    cudaSetDevice(own.device->gpu());
    for (const NcclGroup::Asked& asked : own.pending) {
      cudaEventDestroy(asked.arrived);
      cudaEventDestroy(asked.done);
    }
    own.pending.clear();
    for (const cudaEvent_t event : own.spare) cudaEventDestroy(event);
    own.spare.clear();
    own.device = nullptr;
    for (void* const scratch : scratches_) cudaFree(scratch);
  }

  int rank() const override { return rank_; }
  int ranks() const override { return group_->ranks(); }
  CommunicatorInfo info() const override { return {"nccl", reason_}; }

  void attach(Device& device) override {
    device_ = dynamic_cast<cuda::CudaDevice*>(&device);
    if (device_ == nullptr) throw run_error("NCCL joins ranks on GPUs, and this device is " + device.name());
    check(kWhat, "cudaSetDevice", cudaSetDevice(device_->gpu()));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclUniqueId id = group_->id();
    NcclGroup::Member& own = member();
    {
      const std::lock_guard lock(own.mutex);
      own.attached = true;
      own.gpu = device_->gpu();
    }
    const double begin = now_seconds();
    const auto wait_a_moment = [&] {
      if (now_seconds() - begin > group_->patience_seconds()) group_->fail_at_the_begin();
      std::this_thread::sleep_for(kPollInterval);
    };
    while (group_->ranks_on(own.gpu) == 0) {
      group_->throw_failure();
      wait_a_moment();
    }
    const int sharing = group_->ranks_on(own.gpu);
    if (sharing > 1) config.maxCTAs = std::max(1, kBlocksOfAGpu / sharing);
    {
      const std::lock_guard lock(own.mutex);
      group_->throw_failure();
      demand("ncclCommInitRankConfig", nccl_library().init_rank(&own.comm, ranks(), id, rank_, &config));
    }
    while (in_progress("the first meeting")) wait_a_moment();
    const std::lock_guard lock(own.mutex);
    own.device = device_;
  }

  CollectiveTimes all_reduce(DType dtype, int64_t count, void* data, Reduction reduction) override {
    const ncclRedOp_t op = reduction == Reduction::Max ? ncclMax : ncclSum;
    return collective(all_reduce_request(dtype, count, reduction), [&](ncclComm_t comm) {
      demand("ncclAllReduce", nccl_library().all_reduce(data, data, static_cast<size_t>(count),
                                                        data_type(dtype), op, comm, stream()));
    });
  }

  CollectiveTimes reduce_scatter(DType dtype, const Slicing& slicing, const void* full,
                                 void* shard) override {
    if (slicing.outer > 1) scratch(full_bytes(dtype, slicing));
    return collective(sliced_request(Call::ReduceScatter, dtype, slicing), [&](ncclComm_t comm) {
      const char* packed = pack(dtype, slicing, full);
      if (is_even(slicing)) {
        const int64_t count = slicing.outer * slicing.extent / ranks() * slicing.inner;
        demand("ncclReduceScatter", nccl_library().reduce_scatter(packed, shard, static_cast<size_t>(count),
                                                                  data_type(dtype), ncclSum, comm, stream()));
        return;
      }
      together([&] {
        for (int rank = 0; rank < ranks(); ++rank) {
          const int64_t count = slice_count(slicing, rank);
          demand("ncclReduce",
                 nccl_library().reduce(packed, rank == rank_ ? shard : nullptr, static_cast<size_t>(count),
                                       data_type(dtype), ncclSum, rank, comm, stream()));
          packed += count * element_bytes(dtype);
        }
      });
    });
  }

  CollectiveTimes all_gather(DType dtype, const Slicing& slicing, const void* shard, void* full) override {
    const bool in_place = slicing.outer == 1;  // slices lie one behind the other
    char* const packed = in_place ? static_cast<char*>(full) : scratch(full_bytes(dtype, slicing));
    const auto gather = [&](ncclComm_t comm) {
      if (is_even(slicing)) {
        demand("ncclAllGather",
               nccl_library().all_gather(shard, packed, static_cast<size_t>(slice_count(slicing, rank_)),
                                         data_type(dtype), comm, stream()));
      } else {
        together([&] {
          char* to = packed;
          for (int rank = 0; rank < ranks(); ++rank) {
            const int64_t count = slice_count(slicing, rank);
            demand("ncclBroadcast", nccl_library().broadcast(shard, to, static_cast<size_t>(count),
                                                             data_type(dtype), rank, comm, stream()));
            to += count * element_bytes(dtype);
          }
        });
      }
    };
    return collective(sliced_request(Call::AllGather, dtype, slicing), gather, [&] {
      if (in_place) return;
      const char* from = packed;
      for_each_slice(dtype, slicing, [&](int64_t row_bytes, int64_t begin_bytes, int64_t full_row_bytes) {
        copy(slicing.outer, row_bytes, from, row_bytes, static_cast<char*>(full) + begin_bytes,
             full_row_bytes);
        from += slicing.outer * row_bytes;
      });
    });
  }

  CollectiveTimes all_to_all(DType dtype, const Shape& shape, int from_dim, int to_dim, const void* from,
                             void* to) override {
    const Request request = exchange_request(dtype, shape, from_dim, to_dim);
    const char* received = nullptr;
    scratch(exchanged_bytes(request));
    return collective(
        request, [&](ncclComm_t comm) { received = exchange(request, from, comm); },
        [&] { unpack(request, received, to); });
  }

  CollectiveTimes broadcast(DType dtype, int64_t count, int root, void* data) override {
    return collective(broadcast_request(dtype, count, root, ranks()), [&](ncclComm_t comm) {
      demand("ncclBroadcast", nccl_library().broadcast(data, data, static_cast<size_t>(count),
                                                       data_type(dtype), root, comm, stream()));
    });
  }

  void barrier() override {
    float* const one = reinterpret_cast<float*>(scratch(sizeof(float)));
    all_reduce(DType::Fp32, 1, one, Reduction::Sum);
    device_->synchronize();
  }

  void abort(const std::string& why) override { group_->fail(Error(ErrorKind::Cancelled, why)); }

 private:
  NcclGroup::Member& member() { return group_->member(rank_); }
  cudaStream_t stream() const { return device_->order().collectives(); }

  void demand(const char* call, ncclResult_t result) const {
    if (result == ncclSuccess || result == ncclInProgress) return;
    throw run_error(std::string(kWhat) + ": " + call + " failed with " + nccl_library().error_string(result) +
                    ": " + nccl_library().last_error(nullptr));
  }

  // Throws what has become of the group.
  bool in_progress(const std::string& what) {
    group_->throw_failure();
    ncclResult_t state = ncclSuccess;
    {
      NcclGroup::Member& own = member();
      const std::lock_guard lock(own.mutex);
      if (own.comm != nullptr) nccl_library().async_error(own.comm, &state);
    }
    if (group_->speaks_of_another(state)) return true;  // until the watch has had enough of it
    if (NcclGroup::is_error(state))
      group_->fail(run_error("NCCL on rank " + std::to_string(rank_) + ", " + what + ": " +
                             nccl_library().error_string(state)));
    group_->throw_failure();
    return state == ncclInProgress;
  }

  void wait_while_in_progress(const std::string& what) {
    for (int looks = 0; in_progress(what); ++looks) {
      if (looks < kLooksAwake)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(kPollInterval);
    }
  }

  // One collective: asked for behind the steps, `after` on the stream behind NCCL's `work`, and noted for the
  // watch, from before NCCL is asked: to begin may be what takes for ever.
  template <typename Work, typename After>
  CollectiveTimes collective(const Request& request, const Work& work, const After& after) {
    check_request(request);
    group_->throw_failure();
    group_->meet(rank_, request);
    NcclGroup::Member& own = member();
    check(kWhat, "cudaSetDevice", cudaSetDevice(device_->gpu()));
    device_->order().begin_collective();
    if (!request.is_empty()) {
      {
        const std::lock_guard lock(own.mutex);
        if (own.comm != nullptr) {
          own.pending.push_back({own.asked++, request, own.event(), own.event()});
          check(kWhat, "cudaEventRecord", cudaEventRecord(own.pending.back().arrived, stream()));
          work(own.comm);
        }
      }
      wait_while_in_progress(describe(request));
    }
    group_->part(rank_, request);
    if (!request.is_empty()) {
      const std::lock_guard lock(own.mutex);
      if (own.comm != nullptr) {
        after();
        check(kWhat, "cudaEventRecord", cudaEventRecord(own.pending.back().done, stream()));
        own.pending.back().begun = true;
      }
    }
    group_->throw_failure();
    CollectiveTimes times;
    times.sent_bytes = carried_bytes(request, ranks(), rank_);
    return times;
  }
  template <typename Work>
  CollectiveTimes collective(const Request& request, const Work& work) {
    return collective(request, work, [] {});
  }

  template <typename Calls>
  void together(const Calls& calls) const {
    demand("ncclGroupStart", nccl_library().group_start());
    try {
      calls();
    } catch (...) {
      nccl_library().group_end();  // or the thread's next call would wait for it
      throw;
    }
    demand("ncclGroupEnd", nccl_library().group_end());
  }

  bool is_even(const Slicing& slicing) const { return slicing.extent % ranks() == 0; }
  int64_t slice_count(const Slicing& slicing, int rank) const {
    return slicing.outer * shard_range(slicing.extent, ranks(), rank).size() * slicing.inner;
  }
  static int64_t full_bytes(DType dtype, const Slicing& slicing) {
    return slicing.outer * slicing.extent * slicing.inner * element_bytes(dtype);
  }

  // Of every rank's slice: the bytes of its rows, where they begin in the full tensor's rows, and how long
  // those are.
  template <typename Visit>
  void for_each_slice(DType dtype, const Slicing& slicing, const Visit& visit) const {
    const int64_t element = slicing.inner * element_bytes(dtype);
    for (int rank = 0; rank < ranks(); ++rank) {
      const Range range = shard_range(slicing.extent, ranks(), rank);
      visit(range.size() * element, range.begin * element, slicing.extent * element);
    }
  }

  // A full tensor's slices one behind the other, rank by rank: in place where they lie so already.
  const char* pack(DType dtype, const Slicing& slicing, const void* full) {
    if (slicing.outer == 1) return static_cast<const char*>(full);
    char* const packed = scratch(full_bytes(dtype, slicing));
    char* to = packed;
    for_each_slice(dtype, slicing, [&](int64_t row_bytes, int64_t begin_bytes, int64_t full_row_bytes) {
      copy(slicing.outer, row_bytes, static_cast<const char*>(full) + begin_bytes, full_row_bytes, to,
           row_bytes);
      to += slicing.outer * row_bytes;
    });
    return packed;
  }

  ExchangedBlock block_of(const Request& request, int sender, int receiver) const {
    return ExchangedBlock(request, ranks(), sender, receiver);
  }

  int64_t sent_bytes(const Request& request) const {
    int64_t bytes = 0;
    for (int other = 0; other < ranks(); ++other) bytes += block_of(request, rank_, other).bytes();
    return bytes;
  }
  int64_t exchanged_bytes(const Request& request) const {
    int64_t bytes = sent_bytes(request);
    for (int other = 0; other < ranks(); ++other) bytes += block_of(request, other, rank_).bytes();
    return bytes;
  }

  // Each rank's block is packed, sent and received. Returns where those received will lie, rank by rank.
  const char* exchange(const Request& request, const void* from, ncclComm_t comm) {
    const auto block = [&](int sender, int receiver) { return block_of(request, sender, receiver); };
    char* const out = scratch(exchanged_bytes(request));
    char* const in = out + sent_bytes(request);
    char* place = out;
    for (int other = 0; other < ranks(); ++other) {
      const ExchangedBlock given = block(rank_, other);
      for (int64_t o = 0; o < given.outer && given.bytes() > 0; ++o, place += given.rows * given.row_bytes) {
        const auto source = given.in_source(o);
        copy(given.rows, given.row_bytes, static_cast<const char*>(from) + source.begin_bytes,
             source.stride_bytes, place, given.row_bytes);
      }
    }
    together([&] {
      char* send_at = out;
      char* receive_at = in;
      for (int other = 0; other < ranks(); ++other) {
        const int64_t to_other = block(rank_, other).bytes(), from_other = block(other, rank_).bytes();
        demand("ncclSend",
               nccl_library().send(send_at, static_cast<size_t>(to_other), ncclInt8, other, comm, stream()));
        demand("ncclRecv", nccl_library().receive(receive_at, static_cast<size_t>(from_other), ncclInt8,
                                                  other, comm, stream()));
        send_at += to_other;
        receive_at += from_other;
      }
    });
    return in;
  }

  // What was received, each rank's block into its place.
  void unpack(const Request& request, const char* place, void* to) const {
    for (int other = 0; other < ranks(); ++other) {
      const ExchangedBlock taken = block_of(request, other, rank_);
      for (int64_t o = 0; o < taken.outer && taken.bytes() > 0; ++o, place += taken.rows * taken.row_bytes) {
        const auto target = taken.in_target(o);
        copy(taken.rows, taken.row_bytes, place, taken.row_bytes, static_cast<char*>(to) + target.begin_bytes,
             target.stride_bytes);
      }
    }
  }

  void copy(int64_t rows, int64_t row_bytes, const void* from, int64_t from_stride, void* to,
            int64_t to_stride) const {
    cuda::copy_rows(kWhat, stream(), rows, row_bytes, from, from_stride, to, to_stride);
  }

  // Nothing is freed while collectives run: that would wait for all of the GPU, and where ranks share it for
  // a collective that waits for this rank. To get more may wait too, so it is asked for before ranks meet.
  char* scratch(int64_t bytes) {
    if (bytes > scratch_bytes_) {
      check(kWhat, "cudaSetDevice", cudaSetDevice(device_->gpu()));
      void* larger = nullptr;
      check(kWhat, "cudaMalloc", cudaMalloc(&larger, static_cast<size_t>(bytes)));
      scratches_.push_back(larger);
      scratch_bytes_ = bytes;
    }
    return scratches_.empty() ? nullptr : static_cast<char*>(scratches_.back());
  }

  const std::shared_ptr<NcclGroup> group_;
  const int rank_;
  const std::string reason_;
  cuda::CudaDevice* device_ = nullptr;
  std::vector<void*> scratches_;  ///< the last one is in use
  int64_t scratch_bytes_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_nccl_group(int ranks, const std::string& reason,
                                                           double patience_seconds) {
  if (ranks < 1) throw request_error("a group of " + std::to_string(ranks) + " ranks: give 1 or more");
  if (nccl_library().version == 0) throw request_error(nccl_library().why);
  const auto group = std::make_shared<NcclGroup>(ranks, patience_seconds);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < ranks; ++rank)
    communicators.push_back(std::make_unique<NcclCommunicator>(group, rank, reason));
  return communicators;
}

std::unique_ptr<Communicator> make_nccl_rank(std::unique_ptr<HostMeeting> meeting, const std::string& reason,
                                             double patience_seconds) {
  if (nccl_library().version == 0) throw request_error(nccl_library().why);
  const int rank = meeting->rank(), ranks = meeting->ranks();
  return std::make_unique<NcclCommunicator>(
      std::make_shared<NcclGroup>(ranks, patience_seconds, std::move(meeting)), rank, reason);
}

}  // namespace shardlens
