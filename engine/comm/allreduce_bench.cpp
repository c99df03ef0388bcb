#include "engine/comm/allreduce_bench.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "engine/comm/carried.h"
#include "engine/comm/comm.h"
#include "engine/config/error.h"
#include "engine/device/device.h"

namespace shardlens {

namespace {

constexpr int64_t kBatchBytes =
    8 << 20;  // a batch repeats until it has moved this much, so that clocks resolve it
constexpr int64_t kMostRepeats = 1000;

struct Free {
  void operator()(char* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<char, Free>;

Buffer allocate(int64_t bytes) {
  constexpr int64_t kAlignment = 4096;
  const int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  Buffer buffer(static_cast<char*>(std::aligned_alloc(kAlignment, static_cast<size_t>(rounded))));
  if (!buffer)
    throw run_error(fmt::format("all-reduce bench: no memory for {} bytes; choose a smaller size", rounded));
  return buffer;
}

// The index-th core this process may use becomes the only one of the calling thread.
void bind_to_core(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    return;
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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

struct RankBuffers {
  Buffer data, copy_from, copy_to;
};

struct Rounds {
  std::vector<double> all_reduce_seconds, copy_seconds;  // per operation, one entry a round
};

// One collective on the full tensor `data`; `shard` is another tensor of at least its size.
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

// What one rank's thread does. Rank 0 holds the watch: both batches begin and end with all ranks together.
void run_rank(Communicator& comm, const AllReduceBench& bench, int64_t bytes, const RankBuffers& buffers,
              Rounds& rounds) {
  const int64_t repeats = std::clamp<int64_t>(kBatchBytes / bytes, 1, kMostRepeats);
  const int64_t count = bytes / element_bytes(bench.dtype);
  const size_t size = static_cast<size_t>(bytes);
  // Touched first by the thread that uses them. Bits of 1 as fp32; the sums soon grow to infinity, which
  // costs an adder no more than any other number.
  for (char* memory : {buffers.data.get(), buffers.copy_from.get(), buffers.copy_to.get()}) {
    std::memset(memory, 0x3f, size);
  }
  for (int round = 0; round < bench.rounds; ++round) {
    comm.barrier();
    auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < repeats; ++i)
      run_collective(comm, bench, count, buffers.data.get(), buffers.copy_to.get());
    const double all_reduce = seconds_since(start);

    comm.barrier();
    start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < repeats; ++i) {
      std::memcpy(buffers.copy_to.get(), buffers.copy_from.get(), size);
      asm volatile("" : : "r"(buffers.copy_to.get()) : "memory");  // or equal copies would be folded into one
    }
    comm.barrier();
    const double copy = seconds_since(start);

    if (comm.rank() == 0) {
      rounds.all_reduce_seconds.push_back(all_reduce / static_cast<double>(repeats));
      rounds.copy_seconds.push_back(copy / static_cast<double>(repeats));
    }
  }
}

AllReducePoint point_of(const AllReduceBench& bench, Rounds& rounds, int ranks, int64_t bytes,
                        bool core_per_rank) {
  AllReducePoint point{.ranks = ranks, .bytes = bytes, .core_per_rank = core_per_rank};
  point.median_seconds = percentile(rounds.all_reduce_seconds, 0.5);
  point.p10_seconds = percentile(rounds.all_reduce_seconds, 0.1);
  point.p90_seconds = percentile(rounds.all_reduce_seconds, 0.9);
  point.best_seconds = percentile(rounds.all_reduce_seconds, 0);
  point.copy_seconds = percentile(rounds.copy_seconds, 0.5);
  point.copy_best_seconds = percentile(rounds.copy_seconds, 0);
  point.of_copy = point.copy_best_seconds / point.best_seconds;
  const int64_t counted = bench.collective == Collective::AllToAll ? bytes / ranks : bytes;
  const Bandwidth rates = bandwidth(call_of(bench.collective), counted, ranks, point.median_seconds);
  point.algorithm_bytes_per_second = rates.algorithm;
  point.bus_bytes_per_second = rates.bus;
  return point;
}

AllReducePoint measure(const AllReduceBench& bench, int ranks, int64_t bytes) {
  const bool core_per_rank = ranks <= available_cores();
  std::vector<RankBuffers> buffers(static_cast<size_t>(ranks));
  for (RankBuffers& rank : buffers) rank = {allocate(bytes), allocate(bytes), allocate(bytes)};

  Rounds rounds;
  const auto group = make_local_group(ranks);
  std::vector<std::jthread> threads;
  try {
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        if (core_per_rank) bind_to_core(rank);
        try {
          run_rank(*group[static_cast<size_t>(rank)], bench, bytes, buffers[static_cast<size_t>(rank)],
                   rounds);
        } catch (const Error&) {
          // Only when the group was aborted below; the reason is thrown there.
        }
      });
    }
  } catch (const std::system_error& error) {
    group[0]->abort("not all ranks started");
    throw run_error(fmt::format("all-reduce bench: cannot start {} threads ({}); choose fewer ranks", ranks,
                                error.what()));
  }
  threads.clear();

  return point_of(bench, rounds, ranks, bytes, core_per_rank);
}

}  // namespace

AllReducePoint bench_rank(Communicator& communicator, const AllReduceBench& bench, int64_t bytes) {
  Rounds rounds;
  run_rank(communicator, bench, bytes, {allocate(bytes), allocate(bytes), allocate(bytes)}, rounds);
  if (communicator.rank() != 0) return {};
  return point_of(bench, rounds, communicator.ranks(), bytes, false);
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
  return {0, ss / s1};  // noise hides the latency: bandwidth alone
}

std::vector<AllReducePoint> bench_all_reduce(const AllReduceBench& bench) {
  if (bench.dtype != DType::Fp32 && bench.dtype != DType::Fp64) {
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
      throw request_error(
          fmt::format("all-reduce bench: a size of {} bytes; one element takes {}", bytes, element));
    }
  }
  std::vector<AllReducePoint> points;
  for (const int ranks : bench.ranks) {
    for (const int64_t bytes : bench.sizes_bytes)
      points.push_back(measure(bench, ranks, bytes / element * element));
  }
  return points;
}

}  // namespace shardlens
