// The communicator over NCCL, for ranks with a GPU each. No call waits for the GPU or for other ranks' GPUs:
// communicators are non-blocking, and work goes into the rank's stream of collectives. NCCL may enqueue it
// after its call has returned. So work that must come after it (a copy out of scratch memory, an event) is
// enqueued only when the communicator is no longer in progress.
//
// Slices that are uneven or not contiguous travel through a packed copy in scratch memory, rank by rank. Sums
// of 16-bit values are taken here, from all ranks' terms in scratch memory. make_room() allocates that memory
// before the first of them: nothing is allocated while collectives run.
// nccl_group.h describes what happens if a rank fails or does not come.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/cpu_pause.h"
#include "engine/base/error.h"
#include "engine/comm/carried.h"
#include "engine/comm/combine.cuh"
#include "engine/comm/nccl.h"
#include "engine/comm/nccl_group.h"
#include "engine/comm/nccl_library.h"
#include "engine/comm/nccl_sharing.h"
#include "engine/device/cuda/copy_rows.cuh"
#include "engine/device/cuda/cuda_order.h"

namespace shardlens {

namespace {

using cuda::check;

constexpr const char* kWhat = "a collective by NCCL";
constexpr auto kPollInterval = std::chrono::microseconds(200);
// NCCL has most calls on the stream by the time a thread has looked this often without sleeping.
constexpr int kLooksAwake = 1000;

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

// CUDA events for collectives that a host has asked for and the GPU has not done. More are made when needed.
constexpr int kEventsAtTheBegin = 128;

constexpr auto kNothing = [] {};

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(std::shared_ptr<NcclGroup> group, int rank, int ranks_per_gpu, std::string reason)
      : group_(std::move(group)), rank_(rank), ranks_per_gpu_(ranks_per_gpu), reason_(std::move(reason)) {}

  ~NcclCommunicator() override {
    NcclGroup::Member& own = member();
    std::deque<NcclGroup::Asked> pending;
    std::vector<cudaEvent_t> events;
    {
      const std::lock_guard looking(own.looking);
      const std::lock_guard lock(own.mutex);
      own.device = nullptr;
      pending.swap(own.pending);
      events.swap(own.spare);
    }
    if (device_ == nullptr) return;
    const int gpu = device_->gpu();
    cudaSetDevice(gpu);
    const bool is_done = std::all_of(pending.begin(), pending.end(), [](const NcclGroup::Asked& asked) {
      return asked.begun && cudaEventQuery(asked.done) == cudaSuccess;
    });
    group_->end(rank_, is_done, [gpu, pending, events, scratches = scratches_] {
      cudaSetDevice(gpu);
      for (const NcclGroup::Asked& asked : pending) {
        cudaEventDestroy(asked.arrived);
        cudaEventDestroy(asked.done);
      }
      for (const cudaEvent_t event : events) cudaEventDestroy(event);
      for (void* const scratch : scratches) cudaFree(scratch);
    });
  }

  int rank() const override { return rank_; }
  int ranks() const override { return group_->ranks(); }
  CommunicatorInfo info() const override { return {"nccl", reason_}; }

  void attach(Device& device) override {
    device_ = dynamic_cast<cuda::CudaDevice*>(&device);
    if (device_ == nullptr)
      throw run_error("NCCL connects ranks on GPUs, but this device is " + device.name());
    check(kWhat, "cudaSetDevice", cudaSetDevice(device_->gpu()));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclUniqueId id = group_->id();
    NcclGroup::Member& own = member();
    {
      const std::lock_guard lock(own.mutex);
      own.attached = true;
    }
    if (ranks_per_gpu_ > 1) {
      int multiprocessors = 0;
      check(kWhat, "cudaDeviceGetAttribute",
            cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device_->gpu()));
      config.maxCTAs = std::max(1, nccl_blocks_of_a_rank(multiprocessors, ranks_per_gpu_));
    }
    own.call([&](ncclComm_t& comm) {
      group_->throw_failure();
      demand("ncclCommInitRankConfig", nccl_library().init_rank(&comm, ranks(), id, rank_, &config));
    });
    wait_for_start();
    own.make_events(kEventsAtTheBegin);
    connect();
    const std::lock_guard lock(own.mutex);
    own.device = device_;
  }

  void make_room(int64_t packed_bytes) override { scratch(std::max<int64_t>(packed_bytes, sizeof(float))); }

  CollectiveTimes all_reduce(DType dtype, int64_t count, void* data, Reduction reduction) override {
    const Request request = all_reduce_request(dtype, count, reduction);
    if (sums_here(request)) return all_reduce_here(request, data);
    const ncclRedOp_t op = reduction == Reduction::Max ? ncclMax : ncclSum;
    return collective(request, kNothing, [&](ncclComm_t comm) {
      demand("ncclAllReduce", nccl_library().all_reduce(data, data, static_cast<size_t>(count),
                                                        data_type(dtype), op, comm, stream()));
    });
  }

  CollectiveTimes reduce_scatter(DType dtype, const Slicing& slicing, const void* full,
                                 void* shard) override {
    const Request request = sliced_request(Call::ReduceScatter, dtype, slicing);
    if (sums_here(request)) return reduce_scatter_here(request, slicing, full, shard);
    const char* packed = nullptr;
    const auto gather_rows = [&] { packed = pack(request, slicing, full); };
    return collective(request, gather_rows, [&](ncclComm_t comm) {
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
    const Request request = sliced_request(Call::AllGather, dtype, slicing);
    const bool in_place = bytes_to_pack(request) == 0;
    char* packed = nullptr;
    const auto make_room = [&] {
      packed = in_place ? static_cast<char*>(full) : scratch(bytes_to_pack(request));
    };
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
    return collective(request, make_room, gather, [&] {
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
    const int64_t sent = sent_bytes(request);
    char* out = nullptr;
    return collective(
        request,
        [&] {
          out = scratch(bytes_to_pack(request));
          pack(request, from, out);
        },
        [&](ncclComm_t comm) { exchange(request, out, out + sent, comm); },
        [&] { unpack(request, out + sent, to); });
  }

  CollectiveTimes broadcast(DType dtype, int64_t count, int root, void* data) override {
    return collective(broadcast_request(dtype, count, root, ranks()), kNothing, [&](ncclComm_t comm) {
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
  std::optional<int> failed_rank() override { return group_->failed_rank(); }

 private:
  NcclGroup::Member& member() { return group_->member(rank_); }
  cudaStream_t stream() const { return device_->order().collectives(); }

  void demand(const char* call, ncclResult_t result) const {
    if (result == ncclSuccess || result == ncclInProgress) return;
    throw run_error(std::string(kWhat) + ": " + call + " failed with " + nccl_library().error_string(result) +
                    ": " + nccl_library().last_error(nullptr));
  }

  // NCCL would round sums of 16-bit values at each rank on their way. So every rank gets all terms of its
  // part and sums them here, in rank order and in fp32, and an all-gather hands out the sums. That is as many
  // bytes as a ring sends, in two calls to NCCL instead of one, and a pass over the terms.
  bool sums_here(const Request& request) const { return ranks() > 1 && is_half_sum(request); }

  CollectiveTimes all_reduce_here(const Request& request, void* data) {
    const int64_t element = element_bytes(request.dtype);
    char* const begin = static_cast<char*>(data);
    std::vector<Range> parts;
    for (int rank = 0; rank < ranks(); ++rank)
      parts.push_back(reduced_range(request.dtype, request.extents[0], ranks(), rank));
    const Range mine = parts[static_cast<size_t>(rank_)];
    const auto at = [&](int rank) { return begin + parts[static_cast<size_t>(rank)].begin * element; };
    const auto count_of = [&](int rank) {
      return static_cast<size_t>(parts[static_cast<size_t>(rank)].size());
    };
    const auto bytes_of = [&](int rank) { return static_cast<int64_t>(count_of(rank)) * element; };
    const ncclDataType_t type = data_type(request.dtype);
    const bool even = std::all_of(parts.begin(), parts.end(),
                                  [&](const Range& part) { return part.size() == mine.size(); });
    char* received = nullptr;
    const CollectiveTimes times = collective(
        request, [&] { received = scratch(bytes_to_pack(request)); },
        [&](ncclComm_t comm) { exchange_terms(at, bytes_of, received, comm); },
        [&] { sum(request.dtype, mine.size(), at(rank_), received, at(rank_)); });
    collective(request, kNothing, [&](ncclComm_t comm) {
      if (even) {
        demand("ncclAllGather",
               nccl_library().all_gather(at(rank_), begin, count_of(rank_), type, comm, stream()));
        return;
      }
      together([&] {
        for (int rank = 0; rank < ranks(); ++rank)
          demand("ncclBroadcast",
                 nccl_library().broadcast(at(rank), at(rank), count_of(rank), type, rank, comm, stream()));
      });
    });
    return times;
  }

  CollectiveTimes reduce_scatter_here(const Request& request, const Slicing& slicing, const void* full,
                                      void* shard) {
    const int64_t element = element_bytes(request.dtype);
    const char* packed = nullptr;
    char* received = nullptr;
    const auto bytes_of = [&](int rank) { return slice_count(slicing, rank) * element; };
    const auto at = [&](int rank) {
      const char* place = packed;
      for (int before = 0; before < rank; ++before) place += bytes_of(before);
      return place;
    };
    return collective(
        request,
        [&] {
          packed = pack(request, slicing, full);
          received = scratch(bytes_to_pack(request)) + (packed == full ? 0 : at(ranks()) - packed);
        },
        [&](ncclComm_t comm) { exchange_terms(at, bytes_of, received, comm); },
        [&] { sum(request.dtype, slice_count(slicing, rank_), at(rank_), received, shard); });
  }

  // Sends every other rank its terms and receives theirs of this rank's part, one rank's after the other's.
  template <typename At, typename BytesOf>
  void exchange_terms(const At& at, const BytesOf& bytes_of, char* receive_at, ncclComm_t comm) const {
    together([&] {
      for (int other = 0; other < ranks(); ++other) {
        if (other == rank_) continue;
        demand("ncclSend", nccl_library().send(at(other), static_cast<size_t>(bytes_of(other)), ncclInt8,
                                               other, comm, stream()));
        demand("ncclRecv", nccl_library().receive(receive_at, static_cast<size_t>(bytes_of(rank_)), ncclInt8,
                                                  other, comm, stream()));
        receive_at += bytes_of(rank_);
      }
    });
  }

  // Sums `count` terms of all ranks: this rank's own, and the others' as exchange_terms() left them.
  void sum(DType dtype, int64_t count, const void* own, const char* received, void* to) const {
    if (count == 0) return;
    cuda::with_element_type(dtype, kWhat, [&](auto zero) {
      using S = decltype(zero);
      cuda::Buffers<S> buffers;
      buffers.count = count;
      const S* next = reinterpret_cast<const S*>(received);
      bool aligned = cuda::rows_aligned<S>(0, own, to);
      for (int rank = 0; rank < ranks(); ++rank) {
        const S* const from = rank == rank_ ? static_cast<const S*>(own) : next;
        if (rank != rank_) next += count;
        buffers.from[buffers.from_count++] = from;
        aligned &= cuda::rows_aligned<S>(0, from);
      }
      buffers.to[buffers.to_count++] = static_cast<S*>(to);
      cuda::launch_combine(kWhat, stream(), buffers, aligned, Reduction::Sum);
    });
  }

  void wait_for_start() {
    const double begin = now_seconds();
    while (in_progress("the start of the group")) {
      if (now_seconds() - begin > group_->start_patience_seconds()) group_->fail_at_the_begin();
      std::this_thread::sleep_for(kPollInterval);
    }
  }

  // Ranks connect for sends and receives when they first exchange something, which can take seconds: no
  // collective should have to. (For all else they connect when the group starts: gpu_environment.h.)
  void connect() {
    const Request request = exchange_request(DType::Fp32, {ranks(), ranks()}, 0, 1);
    const int64_t sent = sent_bytes(request), bytes = bytes_to_pack(request);
    char* const place = scratch(bytes);
    check(kWhat, "cudaMemsetAsync", cudaMemsetAsync(place, 0, static_cast<size_t>(bytes), stream()));
    group_->meet(rank_, request);
    member().call([&](ncclComm_t comm) {
      if (comm != nullptr) exchange(request, place, place + sent, comm);
    });
    wait_for_start();
    group_->part(rank_, request);
  }

  // True while NCCL is still working on the last call. Throws the group's failure if it has one.
  bool in_progress(const std::string& what) {
    group_->throw_failure();
    ncclResult_t state = ncclSuccess;
    {
      NcclGroup::Member& own = member();
      const std::lock_guard lock(own.calling);
      if (own.comm != nullptr) state = NcclGroup::state_of(own.comm);
    }
    if (group_->speaks_of_another(state)) return true;  // until the watch gives up
    if (NcclGroup::is_error(state))
      group_->fail(FailedRank("NCCL on rank " + std::to_string(rank_) + ", " + what +
                                  ": ncclCommGetAsyncError returned " + nccl_library().error_string(state),
                              rank_));
    group_->throw_failure();
    return state == ncclInProgress;
  }

  void wait_while_in_progress(const std::string& what) {
    for (int looks = 0; in_progress(what); ++looks) {
      if (looks < kLooksAwake)
        cpu_pause();
      else
        std::this_thread::sleep_for(kPollInterval);
    }
  }

  // Enqueues one collective: on the stream come `before`, NCCL's `work`, and `after`. The watch has a note of
  // it from before the call to NCCL, because even the beginning may hang.
  template <typename Before, typename Work, typename After>
  CollectiveTimes collective(const Request& request, const Before& before, const Work& work,
                             const After& after) {
    check_request(request);
    group_->throw_failure();
    NcclGroup::Member& own = member();
    check(kWhat, "cudaSetDevice", cudaSetDevice(device_->gpu()));
    NcclGroup::Asked asked{0, request};
    if (!request.is_empty()) {
      before();
      own.take_events(asked);
      check(kWhat, "cudaEventRecord", cudaEventRecord(asked.arrived, stream()));
    }
    group_->meet(rank_, request);
    if (!request.is_empty()) {
      {
        const std::lock_guard lock(own.mutex);
        asked.number = own.asked++;
        own.pending.push_back(asked);
      }
      own.call([&](ncclComm_t comm) {
        if (comm != nullptr) work(comm);
      });
      wait_while_in_progress(describe(request));
    }
    group_->part(rank_, request);
    if (!request.is_empty()) {
      after();
      check(kWhat, "cudaEventRecord", cudaEventRecord(asked.done, stream()));
      const std::lock_guard lock(own.mutex);
      own.pending.back().begun = true;
    }
    group_->throw_failure();
    CollectiveTimes times;
    times.sent_bytes = carried_bytes(request, ranks(), rank_);
    return times;
  }
  template <typename Before, typename Work>
  CollectiveTimes collective(const Request& request, const Before& before, const Work& work) {
    return collective(request, before, work, kNothing);
  }

  template <typename Calls>
  void together(const Calls& calls) const {
    demand("ncclGroupStart", nccl_library().group_start());
    try {
      calls();
    } catch (...) {
      nccl_library().group_end();  // else the thread's next call would wait for it
      throw;
    }
    demand("ncclGroupEnd", nccl_library().group_end());
  }

  bool is_even(const Slicing& slicing) const { return slicing.extent % ranks() == 0; }
  int64_t slice_count(const Slicing& slicing, int rank) const {
    return slicing.outer * shard_range(slicing.extent, ranks(), rank).size() * slicing.inner;
  }
  int64_t bytes_to_pack(const Request& request) const { return packed_bytes(request, ranks(), rank_); }

  // Visits every rank's slice with: the bytes of its rows, where they begin in the full tensor's rows, and
  // the bytes of those full rows.
  template <typename Visit>
  void for_each_slice(DType dtype, const Slicing& slicing, const Visit& visit) const {
    const int64_t element = slicing.inner * element_bytes(dtype);
    for (int rank = 0; rank < ranks(); ++rank) {
      const Range range = shard_range(slicing.extent, ranks(), rank);
      visit(range.size() * element, range.begin * element, slicing.extent * element);
    }
  }

  // Returns a full tensor's slices one after the other, rank by rank. Makes no copy if they are so already.
  const char* pack(const Request& request, const Slicing& slicing, const void* full) {
    if (slicing.outer == 1) return static_cast<const char*>(full);
    char* const packed = scratch(bytes_to_pack(request));
    char* to = packed;
    for_each_slice(request.dtype, slicing,
                   [&](int64_t row_bytes, int64_t begin_bytes, int64_t full_row_bytes) {
                     copy(slicing.outer, row_bytes, static_cast<const char*>(full) + begin_bytes,
                          full_row_bytes, to, row_bytes);
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

  // Packs the blocks to send, one rank's block after the other's.
  void pack(const Request& request, const void* from, char* place) const {
    for (int other = 0; other < ranks(); ++other) {
      const ExchangedBlock given = block_of(request, rank_, other);
      for (int64_t o = 0; o < given.outer && given.bytes() > 0; ++o, place += given.rows * given.row_bytes) {
        const auto source = given.in_source(o);
        copy(given.rows, given.row_bytes, static_cast<const char*>(from) + source.begin_bytes,
             source.stride_bytes, place, given.row_bytes);
      }
    }
  }

  // Sends each rank its block and receives one from each; blocks are stored one after the other.
  void exchange(const Request& request, const char* send_at, char* receive_at, ncclComm_t comm) const {
    together([&] {
      for (int other = 0; other < ranks(); ++other) {
        const int64_t to_other = block_of(request, rank_, other).bytes(),
                      from_other = block_of(request, other, rank_).bytes();
        demand("ncclSend",
               nccl_library().send(send_at, static_cast<size_t>(to_other), ncclInt8, other, comm, stream()));
        demand("ncclRecv", nccl_library().receive(receive_at, static_cast<size_t>(from_other), ncclInt8,
                                                  other, comm, stream()));
        send_at += to_other;
        receive_at += from_other;
      }
    });
  }

  // Copies each received block into its place.
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

  // Scratch memory, made once by make_room(). If make_room() did not know the size, a larger piece is
  // allocated when it is needed, before ranks wait at the barrier, because allocating may wait for running
  // work. Nothing is freed while collectives run: freeing would wait for the whole GPU, and if ranks share
  // it, for a collective that waits for this rank.
  char* scratch(int64_t bytes) {
    if (bytes > scratch_bytes_) {
      check(kWhat, "cudaSetDevice", cudaSetDevice(device_->gpu()));
      void* larger = nullptr;
      const cudaError_t status = cudaMalloc(&larger, static_cast<size_t>(bytes));
      if (status == cudaErrorMemoryAllocation)
        throw run_error("NCCL needs a packed copy of slices, and GPU " + std::to_string(device_->gpu()) +
                        " has no memory left for its " + std::to_string(bytes) +
                        " bytes (cudaMalloc): choose a smaller batch or sequence; if the ranks share the "
                        "GPU, you can choose --comm local_cuda, which needs no copy");
      check(kWhat, "cudaMalloc", status);
      scratches_.push_back(larger);
      scratch_bytes_ = bytes;
    }
    return scratches_.empty() ? nullptr : static_cast<char*>(scratches_.back());
  }

  const std::shared_ptr<NcclGroup> group_;
  const int rank_, ranks_per_gpu_;
  const std::string reason_;
  cuda::CudaDevice* device_ = nullptr;
  std::vector<void*> scratches_;  ///< the last one is in use
  int64_t scratch_bytes_ = 0;
};

void check_group(int ranks) {
  if (ranks < 1 || ranks > cuda::kMostCombined)
    throw request_error("a group of " + std::to_string(ranks) + " ranks by NCCL: give 1 to " +
                        std::to_string(cuda::kMostCombined));
  if (nccl_library().version == 0) throw request_error(nccl_library().why);
}

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_nccl_group(int ranks, int ranks_per_gpu,
                                                           const std::string& reason, double patience_seconds,
                                                           bool spins) {
  check_group(ranks);
  const auto group = std::make_shared<NcclGroup>(ranks, patience_seconds, spins);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < ranks; ++rank)
    communicators.push_back(std::make_unique<NcclCommunicator>(group, rank, ranks_per_gpu, reason));
  return communicators;
}

std::unique_ptr<Communicator> make_nccl_rank(std::unique_ptr<HostMeeting> meeting, int ranks_per_gpu,
                                             const std::string& reason, double patience_seconds) {
  const int rank = meeting->rank(), ranks = meeting->ranks();
  check_group(ranks);
  return std::make_unique<NcclCommunicator>(
      std::make_shared<NcclGroup>(ranks, patience_seconds, false, std::move(meeting)), rank, ranks_per_gpu,
      reason);
}

}  // namespace shardlens
