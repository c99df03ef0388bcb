// Times collectives against passes over the same memory, and fits alpha and beta.
#include "engine/comm/allreduce_bench.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/threads.h"
#include "engine/comm/carried.h"
#include "engine/comm/comm.h"
#include "engine/device/cpu/cores.h"
#include "engine/device/device.h"
#include "engine/device/interval.h"
#include "engine/device/work_behind.h"

namespace shardlens {

namespace {

// A batch repeats until it has moved this many bytes, so that clocks resolve it. It is more for an
// asynchronous device: its memory is faster, and the host waits for it only at the end of a batch.
constexpr int64_t kBatchBytes = 8 << 20, kBatchBytesBehind = 1 << 30;
constexpr int64_t kMostRepeats = 1000;
// The byte that buffers are filled with. As fp32 this is about 0.75; the sums soon grow to infinity, which
// costs an adder no more than any other number.
constexpr char kFilling = 0x3f;

struct Free {
  Device* device = nullptr;  // null: host memory
  void operator()(char* memory) const { device == nullptr ? std::free(memory) : device->release(memory); }
};
using Buffer = std::unique_ptr<char, Free>;

Buffer allocate(Device* device, int64_t bytes) {
  if (device != nullptr)
    return {static_cast<char*>(device->allocate(static_cast<size_t>(bytes))), Free{device}};
  constexpr int64_t kAlignment = 4096;
  const int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  Buffer buffer(static_cast<char*>(std::aligned_alloc(kAlignment, static_cast<size_t>(rounded))));
  if (!buffer)
    throw run_error(fmt::format("all-reduce bench: no memory for {} bytes; choose a smaller size", rounded));
  return buffer;
}

// Sorts `values`.
double percentile(std::vector<double>& values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}

Call call_of(Collective collective) {
  switch (collective) {
    case Collective::ReduceScatter:
      return Call::ReduceScatter;
    case Collective::AllGather:
      return Call::AllGather;
    case Collective::AllToAll:
      return Call::AllToAll;
    default:
      return Call::AllReduce;
  }
}

// One rank's buffers. The thread that uses them fills them, because memory is placed near the thread that
// touches it first.
class RankBuffers {
 public:
  RankBuffers(Device* device, int64_t bytes)
      : data(allocate(device, bytes)), shard(allocate(device, bytes)), device_(device), bytes_(bytes) {}

  void fill() {
    const auto size = static_cast<size_t>(bytes_);
    const std::vector<char> filling(device_ == nullptr ? 0 : size, kFilling);
    for (char* memory : {data.get(), shard.get()}) {
      if (device_ == nullptr)
        std::memset(memory, kFilling, size);
      else
        device_->copy_to_device(memory, filling.data(), size);
    }
  }

  // Reads and writes all of `data` once, in place.
  void pass(DType dtype) {
    if (device_ != nullptr)
      return device_->add(dtype, bytes_ / element_bytes(dtype), data.get(), data.get(), data.get());
    float* const values = reinterpret_cast<float*>(data.get());
    const int64_t count = bytes_ / static_cast<int64_t>(sizeof(float));
    for (int64_t i = 0; i < count; ++i) values[i] += values[i];
    asm volatile("" : : "r"(values) : "memory");  // keeps the compiler from merging several passes
  }

  // Returns when the device has finished all its work.
  void wait() {
    if (device_ != nullptr) device_->synchronize();
  }

  void begin_collective() {
    if (is_behind()) device_->behind()->begin_collective();
  }

  bool is_behind() const { return device_ != nullptr && device_->behind() != nullptr; }

  const Buffer data, shard;

 private:
  Device* const device_;
  const int64_t bytes_;
};

// The intervals of one rank's batches, by its own clock, one entry a round; and how often a batch repeats.
struct RankRounds {
  std::vector<Interval> all_reduces, passes;
  int64_t repeats = 1;
};

// Runs one collective on the full tensor `data`; `shard` is another tensor of at least its size.
void run_collective(Communicator& comm, const AllReduceBench& bench, int64_t count, void* data, void* shard) {
  const int64_t ranks = comm.ranks();
  switch (bench.collective) {
    case Collective::ReduceScatter:
      comm.reduce_scatter(bench.dtype, {1, count, 1}, data, shard);
      break;
    case Collective::AllGather:
      comm.all_gather(bench.dtype, {1, count, 1}, shard, data);
      break;
    case Collective::AllToAll:
      comm.all_to_all(bench.dtype, {ranks, (count + ranks - 1) / ranks}, 0, 1, data, shard);
      break;
    default:
      comm.all_reduce(bench.dtype, count, data);
  }
}

// The work of one rank's thread. All ranks begin a batch together. If no code will see the other ranks'
// clocks (`alone`), a pass ends when all ranks have finished it.
RankRounds run_rank(Communicator& comm, const AllReduceBench& bench, int64_t bytes, RankBuffers& buffers,
                    bool alone) {
  const int64_t batch_bytes = buffers.is_behind() ? kBatchBytesBehind : kBatchBytes;
  RankRounds rounds;
  rounds.repeats = std::clamp<int64_t>(batch_bytes / bytes, 1, kMostRepeats);
  const int64_t count = bytes / element_bytes(bench.dtype);
  buffers.fill();
  for (int round = 0; round < bench.rounds; ++round) {
    comm.barrier();
    Interval all_reduces{Interval::Clock::now(), {}};
    for (int64_t i = 0; i < rounds.repeats; ++i) buffers.begin_collective();
    run_collective(comm, bench, count, buffers.data.get(), buffers.shard.get());
    buffers.wait();
    all_reduces.end = Interval::Clock::now();

    comm.barrier();
    Interval passes{Interval::Clock::now(), {}};
    for (int64_t i = 0; i < rounds.repeats; ++i) buffers.pass(bench.dtype);
    buffers.wait();
    if (alone) comm.barrier();
    passes.end = Interval::Clock::now();

    rounds.all_reduces.push_back(all_reduces);
    rounds.passes.push_back(passes);
  }
  return rounds;
}

// Each interval runs from the first rank's begin to the last rank's end. Ranks that share a core take turns,
// and no single rank sees the whole interval.
RankRounds joined(const std::vector<RankRounds>& ranks) {
  RankRounds all = ranks.front();
  for (const RankRounds& rank : ranks)
    for (size_t round = 0; round < all.passes.size(); ++round) {
      all.all_reduces[round].include(rank.all_reduces[round]);
      all.passes[round].include(rank.passes[round]);
    }
  return all;
}

AllReducePoint point_of(const AllReduceBench& bench, const RankRounds& rounds, const Communicator& comm,
                        const Device* device, int64_t bytes, bool core_per_rank) {
  const int ranks = comm.ranks();
  AllReducePoint point{.ranks = ranks, .bytes = bytes, .core_per_rank = core_per_rank};
  point.communicator = comm.info().name;
  if (device != nullptr) point.device = device->name();
  std::vector<double> all_reduces, passes, ratios;
  for (size_t round = 0; round < rounds.passes.size(); ++round) {
    all_reduces.push_back(rounds.all_reduces[round].seconds() / static_cast<double>(rounds.repeats));
    passes.push_back(rounds.passes[round].seconds() / static_cast<double>(rounds.repeats));
    ratios.push_back(passes.back() / all_reduces.back());
  }
  point.median_seconds = percentile(all_reduces, 0.5);
  point.p10_seconds = percentile(all_reduces, 0.1);
  point.p90_seconds = percentile(all_reduces, 0.9);
  point.best_seconds = percentile(all_reduces, 0);
  point.pass_seconds = percentile(passes, 0.5);
  point.pass_best_seconds = percentile(passes, 0);
  point.of_pass = percentile(ratios, 0.5);
  point.of_pass_p10 = percentile(ratios, 0.1);
  point.of_pass_p90 = percentile(ratios, 0.9);
  const int64_t counted = bench.collective == Collective::AllToAll ? bytes / ranks : bytes;
  const Bandwidth rates = bandwidth(call_of(bench.collective), counted, ranks, point.median_seconds);
  point.algorithm_bytes_per_second = rates.algorithm;
  point.bus_bytes_per_second = rates.bus;
  return point;
}

AllReducePoint measure(const AllReduceBench& bench, const BenchRanks& on, int ranks, int64_t bytes) {
  const bool on_devices = on.make_device != nullptr;
  const bool core_per_rank = !on_devices && ranks <= available_cores();
  std::vector<std::unique_ptr<Device>> devices(static_cast<size_t>(ranks));
  const auto group = on_devices ? on.make_group(ranks) : make_local_group(ranks);
  std::vector<std::unique_ptr<RankBuffers>> buffers(static_cast<size_t>(ranks));
  if (!on_devices)
    for (auto& rank : buffers) rank = std::make_unique<RankBuffers>(nullptr, bytes);

  std::vector<RankRounds> rounds(static_cast<size_t>(ranks));
  std::mutex failing;
  std::exception_ptr failure;  // the first one; the others are its consequences
  run_threads("the ranks of bench allreduce", ranks, [&](int number) {
    const auto rank = static_cast<size_t>(number);
    if (core_per_rank) cpu::bind_to_core(number);
    try {
      if (on_devices) {
        devices[rank] = on.make_device(static_cast<int>(rank));
        group[rank]->attach(*devices[rank]);
        buffers[rank] = std::make_unique<RankBuffers>(devices[rank].get(), bytes);
      }
      rounds[rank] = run_rank(*group[rank], bench, bytes, *buffers[rank], false);
    } catch (const std::exception& error) {
      const std::lock_guard lock(failing);
      if (failure) return;
      failure = std::current_exception();
      group[rank]->abort(error.what());
    }
  });
  if (failure) std::rethrow_exception(failure);
  return point_of(bench, joined(rounds), *group[0], devices[0].get(), bytes, core_per_rank);
}

}  // namespace

AllReducePoint bench_rank(Communicator& communicator, Device* device, const AllReduceBench& bench,
                          int64_t bytes) {
  RankBuffers buffers(device, bytes);
  const RankRounds rounds = run_rank(communicator, bench, bytes, buffers, true);
  if (communicator.rank() != 0) return {};
  return point_of(bench, rounds, communicator, device, bytes, false);
}

LinkRate fit_alpha_beta(Collective collective, const std::vector<AllReducePoint>& points) {
  // Normal equations of 1 = (hops / t) alpha + (sent / t) (1 / beta).
  double hh = 0, hs = 0, ss = 0, h1 = 0, s1 = 0;
  for (const AllReducePoint& point : points) {
    const double hops =
        (collective == Collective::AllReduce ? 2.0 : 1.0) * (point.ranks - 1) / point.best_seconds;
    const double sent =
        static_cast<double>(ring_sent_bytes(collective, point.bytes, point.ranks)) / point.best_seconds;
    hh += hops * hops;
    hs += hops * sent;
    ss += sent * sent;
    h1 += hops;
    s1 += sent;
  }
  const double determinant = hh * ss - hs * hs;
  if (points.size() < 2 || determinant <= 0)
    throw run_error("alpha and beta need points of two sizes over two ranks or more");
  const double alpha = (h1 * ss - s1 * hs) / determinant, inverse_beta = (s1 * hh - h1 * hs) / determinant;
  if (alpha > 0 && inverse_beta > 0) return {alpha, 1 / inverse_beta};
  return {0, ss / s1};  // noise hides the latency: fit the bandwidth only
}

std::vector<AllReducePoint> bench_all_reduce(const AllReduceBench& bench, const BenchRanks& on) {
  if (on.make_device == nullptr && bench.dtype != DType::Fp32 && bench.dtype != DType::Fp64) {
    throw request_error(
        fmt::format("all-reduce bench in {}: CPU ranks compute in fp32 or fp64", to_string(bench.dtype)));
  }
  if (bench.rounds < 1)
    throw request_error(fmt::format("all-reduce bench: {} rounds; give 1 or more", bench.rounds));
  const int64_t element = element_bytes(bench.dtype);
  for (const int ranks : bench.ranks) {
    if (ranks < 1) throw request_error(fmt::format("all-reduce bench: {} ranks; give 1 or more", ranks));
  }
  for (const int64_t bytes : bench.sizes_bytes) {
    if (bytes < element) {
      throw request_error(fmt::format(
          "all-reduce bench: a size of {} bytes is too small; one element takes {}", bytes, element));
    }
  }
  std::vector<AllReducePoint> points;
  for (const int ranks : bench.ranks) {
    for (const int64_t bytes : bench.sizes_bytes)
      points.push_back(measure(bench, on, ranks, bytes / element * element));
  }
  return points;
}

}  // namespace shardlens
