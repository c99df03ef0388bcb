// Each rank has a thread, as in a run. A barrier before every repetition makes all ranks load the machine at
// the same time.
#include "engine/device/gemm_bench.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <exception>
#include <random>

#include "engine/base/error.h"
#include "engine/base/rate.h"
#include "engine/base/threads.h"
#include "engine/device/cpu/cores.h"
#include "engine/device/interval.h"
#include "engine/device/work_behind.h"
#include "engine/io/half.h"

namespace shardlens {

namespace {

constexpr int kMaxCalls = 1000;  // more would only measure the call
// FLOP of one repetition on one rank: much longer than the barrier, much shorter than a scheduler's time
// slice.
constexpr double kMinFlops = 2e8;
// The same for a device that works behind its calls: much longer than a call and a wait.
constexpr double kMinFlopsBehind = 1e12;
constexpr int64_t kDrawnNumbers = 1 << 20;

void put(DType dtype, void* matrix, int64_t i, double value) {
  if (dtype == DType::Fp32) static_cast<float*>(matrix)[i] = static_cast<float>(value);
  if (dtype == DType::Fp64) static_cast<double*>(matrix)[i] = value;
  if (dtype == DType::Bf16) static_cast<Bf16*>(matrix)[i] = Bf16(static_cast<float>(value));
  if (dtype == DType::Fp16) static_cast<Fp16*>(matrix)[i] = Fp16(static_cast<float>(value));
}

/// A dense matrix of one rank in its device's memory.
class Operand {
 public:
  Operand(Device& device, DType dtype, int64_t rows, int64_t cols)
      : device_(device), data_(device.allocate(static_cast<size_t>(rows * cols * element_bytes(dtype)))) {
    // Ordinary numbers, because denormal or infinite ones could be slower.
    const int64_t count = rows * cols;
    if (!device.host_visible())
      draw(dtype, count);
    else
      for (int64_t i = 0; i < count; ++i) put(dtype, data_, i, 0.25 + 0.5 * static_cast<double>(i % 7));
  }
  ~Operand() { device_.release(data_); }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  void* data() const { return data_; }

 private:
  // Random numbers: a GPU needs less power for numbers with a pattern, and is then faster. They are repeated
  // to fill the matrix.
  void draw(DType dtype, int64_t count) {
    const int64_t element = element_bytes(dtype), most = std::min(count, kDrawnNumbers);
    std::vector<std::byte> numbers(static_cast<size_t>(most * element));
    std::minstd_rand lot;
    std::uniform_real_distribution<double> number(-1, 1);
    for (int64_t i = 0; i < most; ++i) put(dtype, numbers.data(), i, number(lot));
    for (int64_t first = 0; first < count; first += most)
      device_.copy_to_device(static_cast<std::byte*>(data_) + first * element, numbers.data(),
                             static_cast<size_t>(std::min(most, count - first) * element));
  }

  Device& device_;
  void* data_;
};

int calls_of(const GemmShape& shape, bool behind) {
  const double least = behind ? kMinFlopsBehind : kMinFlops;
  return static_cast<int>(std::clamp(least / shape.flops(), 1.0, double{kMaxCalls}));
}

/// Runs one rank. Returns an interval for each repetition of calls_of() products. The first is the warm-up:
/// the clocks of a GPU need all of its calls for it, a core one.
std::vector<Interval> run_rank(DType dtype, const GemmShape& shape, Device* device, int repetitions,
                               std::barrier<>& together) {
  const bool behind = device->behind() != nullptr;
  const int calls = calls_of(shape, behind);
  const int64_t a_rows = shape.transpose_a ? shape.k : shape.m,
                a_cols = shape.transpose_a ? shape.m : shape.k;
  const int64_t b_rows = shape.transpose_b ? shape.n : shape.k,
                b_cols = shape.transpose_b ? shape.k : shape.n;
  const Operand a(*device, dtype, a_rows, a_cols), b(*device, dtype, b_rows, b_cols);
  const Operand c(*device, shape.wide_result ? DType::Fp32 : dtype, shape.m, shape.n);
  const Gemm gemm{.dtype = dtype,
                  .transpose_a = shape.transpose_a,
                  .transpose_b = shape.transpose_b,
                  .m = shape.m,
                  .n = shape.n,
                  .k = shape.k,
                  .a = a.data(),
                  .lda = a_cols,
                  .b = b.data(),
                  .ldb = b_cols,
                  .c = c.data(),
                  .ldc = shape.n,
                  .wide_result = shape.wide_result};
  std::vector<Interval> intervals;
  for (int repetition = 0; repetition <= repetitions; ++repetition) {
    together.arrive_and_wait();
    const Interval::Clock::time_point begin = Interval::Clock::now();
    const int now = repetition == 0 && !behind ? 1 : calls;
    for (int call = 0; call < now; ++call) device->gemm(gemm);
    device->synchronize();
    intervals.push_back({begin, Interval::Clock::now()});
  }
  return intervals;
}

GemmRate measure(DType dtype, const GemmShape& shape, int ranks, const MakeDevice& make_device,
                 bool core_per_rank, int repetitions) {
  std::barrier<> together(ranks);
  std::atomic<int> calls = 0;
  std::vector<std::vector<Interval>> intervals(static_cast<size_t>(ranks));
  std::vector<std::exception_ptr> failures(static_cast<size_t>(ranks));
  run_threads("the ranks of the GEMM ceiling", ranks, [&](int number) {
    const auto rank = static_cast<size_t>(number);
    if (core_per_rank) cpu::bind_to_core(number);
    try {
      const auto device = make_device(number);
      calls = calls_of(shape, device->behind() != nullptr);
      intervals[rank] = run_rank(dtype, shape, device.get(), repetitions, together);
    } catch (...) {
      failures[rank] = std::current_exception();
      together.arrive_and_drop();  // the others must not wait for this one
    }
  });
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);

  std::vector<double> rates;
  for (size_t repetition = 1; repetition <= static_cast<size_t>(repetitions); ++repetition) {
    Interval all = intervals[0][repetition];
    for (const auto& rank : intervals) all.include(rank[repetition]);
    rates.push_back(per_second(shape.flops() * ranks * calls, all.seconds()));
  }
  std::sort(rates.begin(), rates.end());
  return {shape, rates.front(), rates[rates.size() / 2], rates.back()};
}

}  // namespace

const GemmRate& GemmCeiling::best() const {
  return *std::max_element(rates.begin(), rates.end(), [](const GemmRate& a, const GemmRate& b) {
    return a.median_flops < b.median_flops;
  });
}

GemmCeiling measure_gemm_ceiling(DType dtype, const std::vector<GemmShape>& shapes, int ranks,
                                 int threads_per_rank, int repetitions, const MakeDevice& make_device) {
  if (ranks < 1 || threads_per_rank < 1 || repetitions < 1)
    throw request_error("the GEMM ceiling needs at least 1 rank, 1 thread and 1 repetition, not " +
                        std::to_string(ranks) + ", " + std::to_string(threads_per_rank) + " and " +
                        std::to_string(repetitions));
  const MakeDevice on_cpu = [=](int) { return make_cpu_device(threads_per_rank); };
  const MakeDevice& make = make_device ? make_device : on_cpu;
  const bool core_per_rank = !make_device && threads_per_rank == 1 && ranks <= available_cores();
  GemmCeiling ceiling{ranks, threads_per_rank, repetitions, {}};
  for (const GemmShape& shape : shapes) {
    if (shape.m < 1 || shape.n < 1 || shape.k < 1)
      throw request_error("the GEMM ceiling cannot be measured on the empty shape m " +
                          std::to_string(shape.m) + ", n " + std::to_string(shape.n) + ", k " +
                          std::to_string(shape.k) + ": every size must be at least 1");
    ceiling.rates.push_back(measure(dtype, shape, ranks, make, core_per_rank, repetitions));
  }
  return ceiling;
}

}  // namespace shardlens
