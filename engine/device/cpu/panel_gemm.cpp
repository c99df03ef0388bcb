// A product of one row reads the panels of B in place. A product of many rows, such as a prompt's, copies
// some columns at a time to row-major; the copy is cheap compared with the product.
#include "engine/device/cpu/panel_gemm.h"

#include <algorithm>
#include <type_traits>

#include "engine/device/cpu/aligned.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/gemv.h"
#include "engine/device/cpu/one_row.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/vector.h"
#include "engine/device/panels.h"

namespace shardlens::cpu {

namespace {

// A multiple of a panel's columns, and of the columns at which products may be cut (gemm.h).
constexpr int64_t kCopiedCols = 768;
// A thread's columns of a row begin at whole cache lines of 16-bit numbers.
constexpr int64_t kColStep = 32;
static_assert(kPanelCols % kColStep == 0);
static_assert(kCopiedCols % kPanelCols == 0 && kCopiedCols % 48 == 0);

template <class S, class Result>
void multiply_row(const Gemm& gemm, int threads) {
  const int64_t steps = (gemm.n + kColStep - 1) / kColStep;
  parallel_for(threads, threads, [&](int64_t part) {
    const Range own = shard_range(steps, threads, static_cast<int>(part));
    const auto col = [&](int64_t step) { return std::min(gemm.n, step * kColStep); };
    const Range cols{col(own.begin), col(own.end)};
    compute_row<S, Result>(gemm, cols, [&](const Computed<S>* row, Computed<S>* sums) {
      multiply_panels(row, static_cast<const S*>(gemm.b), gemm.n, gemm.k, cols, sums);
    });
  });
}

void multiply_copied(Device& device, const Gemm& gemm) {
  static thread_local Aligned<char> copy;
  const int64_t bytes = element_bytes(gemm.dtype);
  const int64_t result_bytes = gemm.wide_result && is_half(gemm.dtype) ? element_bytes(DType::Fp32) : bytes;
  for (int64_t begin = 0, end = 0; begin < gemm.n; begin = end) {
    end = gemm.n - begin < 2 * kCopiedCols ? gemm.n : begin + kCopiedCols;
    const Range cols{begin, end};
    copy.resize(static_cast<size_t>(gemm.k * cols.size() * bytes));
    out_of_panels({gemm.k, gemm.n, kPanelCols}, bytes, cols, gemm.b, copy.data());
    Gemm part = gemm;
    part.n = cols.size();
    part.b = copy.data();
    part.ldb = cols.size();
    part.b_panel_cols = 0;
    part.c = static_cast<char*>(gemm.c) + begin * result_bytes;
    if (gemm.bias != nullptr) part.bias = static_cast<const char*>(gemm.bias) + begin * bytes;
    device.gemm(part);
  }
}

}  // namespace

void panel_gemm(Device& device, const Gemm& gemm, int threads) {
  if (!is_one_row(gemm)) return multiply_copied(device, gemm);
  with_element_type(gemm.dtype, "a GEMM", [&](auto zero) {
    using S = decltype(zero);
    gemm.wide_result ? multiply_row<S, Computed<S>>(gemm, threads) : multiply_row<S, S>(gemm, threads);
  });
}

}  // namespace shardlens::cpu
