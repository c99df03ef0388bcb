// Reads memory as fast as possible: one stream for each thread, prefetched a little ahead, and only summed.
// (On a Xeon two cores read 37 GB/s in this way, 28 GB/s without prefetch, and 32 GB/s as four streams.)
#include "engine/device/read_bench.h"
#include "engine/base/rate.h"
#include "engine/base/threads.h"

#include <sys/mman.h>

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <vector>

#include "engine/base/error.h"
#include "engine/device/cpu/cores.h"
#include "engine/device/cpu/vector.h"
#include "engine/device/interval.h"

namespace shardlens {

namespace {

constexpr int64_t kSums = 2;     // lines at a time; four or eight are a quarter slower
constexpr int64_t kAhead = 256;  // 1 KiB; loops with more work for each number need more
constexpr int64_t kStep = kSums * cpu::kLanes<float>;
constexpr size_t kHugePage = size_t{2} << 20;  // as for a device's arenas

float sum_of(const float* memory, int64_t count) {
  cpu::Vector<float> sums[kSums] = {};
  for (int64_t i = 0; i < count; i += kStep)
    for (int64_t s = 0; s < kSums; ++s) {
      const float* const from = memory + i + s * cpu::kLanes<float>;
      cpu::ask_for<2>(from, kAhead, 1);
      sums[s] += cpu::load(from);
    }
  cpu::Vector<float> sum{};
  for (const auto& each : sums) sum += each;
  return cpu::sum_lanes<float>(sum);
}

}  // namespace

ReadBench::ReadBench(int64_t bytes, int threads)
    : floats_per_thread_(0), threads_(threads), memory_(nullptr) {
  if (bytes < 1 || threads < 1)
    throw request_error("the read ceiling needs at least 1 byte and 1 thread, not " + std::to_string(bytes) +
                        " and " + std::to_string(threads));
  const int64_t wanted = bytes / static_cast<int64_t>(sizeof(float)) / threads;
  floats_per_thread_ = std::max<int64_t>(1, (wanted + kStep - 1) / kStep) * kStep;
  const auto size = static_cast<size_t>(floats_per_thread_ * threads) * sizeof(float);
  const size_t rounded = (size + kHugePage - 1) / kHugePage * kHugePage;
  memory_ = static_cast<float*>(std::aligned_alloc(kHugePage, rounded));
  if (memory_ == nullptr)
    throw run_error("could not allocate " + std::to_string(size) + " bytes to measure the read ceiling");
  madvise(memory_, rounded, MADV_HUGEPAGE);
  std::fill_n(memory_, floats_per_thread_ * threads, 1.0f);
}

ReadBench::~ReadBench() {
  std::free(memory_);
}

// Starts its own threads: threads of a parallel region would spin until the next region, and take a core from
// the ranks that are measured too. Each thread reads the clock itself: the thread that started them gets a
// core last, and would measure a begin that is too late.
double ReadBench::bytes_per_second() {
  std::vector<float> sums(static_cast<size_t>(threads_));  // used, or nothing would be read
  std::vector<Interval> intervals(static_cast<size_t>(threads_));
  std::barrier ready(threads_);
  run_threads("the read ceiling", threads_, [&](int thread) {
    cpu::bind_to_core(thread);
    Interval& own = intervals[static_cast<size_t>(thread)];
    ready.arrive_and_wait();
    own.begin = Interval::Clock::now();
    sums[static_cast<size_t>(thread)] = sum_of(memory_ + thread * floats_per_thread_, floats_per_thread_);
    own.end = Interval::Clock::now();
  });
  Interval all = intervals.front();
  for (const Interval& each : intervals) all.include(each);
  const double bytes = static_cast<double>(floats_per_thread_ * threads_) * sizeof(float);
  return sums.front() > 0 ? per_second(bytes, all.seconds()) : 0;
}

}  // namespace shardlens
