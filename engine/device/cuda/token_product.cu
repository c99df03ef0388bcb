// A product of few rows, as a generated token needs it: memory limits its speed, so every byte of W is asked
// for at once. A block owns a strip of W's columns (whole lines of 128 bytes) and a slice of its rows, and
// copies all of it to shared memory before it waits for anything. The blocks' sums meet in scratch, where the
// last block of a strip adds them in the order of the slices and does what comes after the product.
//
// The slices depend on k alone: a column has the same bits however many columns and rows there are. Products
// are fused multiply-adds in fp32.
#include "engine/device/cuda/tokens.h"

#include <algorithm>

#include "engine/device/cuda/apart.h"
#include "engine/device/cuda/formulas.h"
#include "engine/device/cuda/last_block.cuh"
#include "engine/device/cuda/layer_norm.cuh"
#include "engine/device/token_parts.h"

namespace shardlens::cuda {

namespace {

constexpr int kThreads = 128, kWarps = kThreads / 32;
constexpr int kSliceRows = 192;                 // of W
constexpr int kPacks = 8;                       // of 16 bytes in a strip's row
constexpr int kRowStep = kThreads / kPacks;     // rows that the block's threads copy at a time
constexpr int kCopies = kSliceRows / kRowStep;  // by each thread
// Of a W that is stored transposed: a thread copies as much of it at a time as of another one.
constexpr int kTurnsAhead = 6, kColsOfAWarp = 2;
static_assert(kTurnsAhead * kColsOfAWarp == kCopies);

constexpr size_t kWBytes = size_t{kThreads} * kCopies * 16;  // of a block, in shared memory

template <class S>
constexpr int kStripCols = kPacks* kLanes<S>;

/// Blocks of a multiprocessor that a kernel's registers must leave room for. With one row their shared memory
/// allows eight.
template <int kRows>
constexpr int kResident = kRows <= 2 ? 8 : 4;

/// y = x·W before anything else, for kernels.
template <class S>
struct ProductView {
  int64_t rows, cols, depth;  // m, n, k
  const S* x;
  int64_t x_stride;
  const S* w;
  int64_t w_stride;
  bool aligned;  // W's packs, all of which are whole

  explicit ProductView(const Gemm& gemm)
      : rows(gemm.m),
        cols(gemm.n),
        depth(gemm.k),
        x(static_cast<const S*>(gemm.a)),
        x_stride(gemm.lda),
        w(static_cast<const S*>(gemm.b)),
        w_stride(gemm.ldb),
        aligned(rows_aligned<S>(gemm.ldb, gemm.b) && (gemm.transpose_b ? gemm.k : gemm.n) % kLanes<S> == 0) {}

  /// Starts a copy of a pack of W to shared memory, with 0 for what does not exist: nothing of it, or its end
  /// from `count` on. What is not aligned is there at once.
  __device__ __forceinline__ void copy(Pack<S>* to, const S* from, bool exists, int64_t count) const {
    if (aligned) return ask_for_copy<16>(to, from, exists);
#pragma unroll
    for (int lane = 0; lane < kLanes<S>; ++lane)
      to->lane[lane] = exists && lane < count ? from[lane] : narrow<S>(0.0f);
  }
};

/// What comes after the sum of an element: the bias, GeLU, and BiasAdd as a step of its own. What such a step
/// stores is stored and rounded here too.
template <class S>
struct Ending {
  const S* bias;
  AfterProduct after;
  Activation form;
  S* before;
  S* c;
  int64_t cols, c_stride;
  const S *sum_bias = nullptr, *addend = nullptr;
  S* sum = nullptr;

  explicit Ending(const TokenProduct& op)
      : bias(static_cast<const S*>(op.product.bias)),
        after(op.product.after),
        form(op.product.form),
        before(static_cast<S*>(op.product.before)),
        c(static_cast<S*>(op.product.c)),
        cols(op.product.n),
        c_stride(op.product.ldc) {
    if (!op.sum) return;
    sum_bias = static_cast<const S*>(op.sum->bias);
    addend = static_cast<const S*>(op.sum->addend);
    sum = static_cast<S*>(op.sum->y);
  }

  __device__ __forceinline__ void store(int64_t row, int64_t col, float value) const {
    if (bias != nullptr) value += widen(bias[col]);
    if (after == AfterProduct::Gelu) {
      before[row * cols + col] = narrow<S>(value);
      value = as_stored<S>(value);
      value *= gelu_gate(form, value).value;
    }
    c[row * c_stride + col] = narrow<S>(value);
    if (sum == nullptr) return;
    value = as_stored<S>(value) + widen(sum_bias[col]);
    if (addend != nullptr) value = widen(addend[row * cols + col]) + as_stored<S>(value);
    sum[row * cols + col] = narrow<S>(value);
  }
};

/// x as it lies in memory.
template <class S>
struct PlainRows {
  /// Loads x of a block's slice of k, [kRows, kSliceRows], 0 beyond x.
  template <int kRows>
  __device__ __forceinline__ void load(const ProductView<S>& p, int64_t first, bool, float* x) const {
#pragma unroll
    for (int row = 0; row < kRows; ++row)
      for (int at = static_cast<int>(threadIdx.x); at < kSliceRows; at += kThreads) {
        const bool exists = row < p.rows && first + at < p.depth;
        x[row * kSliceRows + at] = exists ? widen(p.x[row * p.x_stride + first + at]) : 0.0f;
      }
  }
};

/// LayerNorm of x, or of a sum. Every block computes the moments of whole rows, in the order of LayerNorm's
/// own kernel, whose threads it plays. The blocks of the first strip store what that kernel would store.
template <class S>
struct NormedRows {
  static constexpr int kPlayed = kRowThreads / kThreads;

  int64_t cols;
  float epsilon;
  const S* x;
  RowSum<S> before;
  const S *gamma, *beta;
  S* y;
  float* stats;
  bool aligned;

  explicit NormedRows(const LayerNorm& op)
      : cols(op.cols),
        epsilon(static_cast<float>(op.epsilon)),
        x(static_cast<const S*>(op.x)),
        before{static_cast<const S*>(op.a), static_cast<const S*>(op.bias),
               op.a == nullptr ? nullptr : static_cast<S*>(op.sum)},
        gamma(static_cast<const S*>(op.gamma)),
        beta(static_cast<const S*>(op.beta)),
        y(static_cast<S*>(op.y)),
        stats(static_cast<float*>(op.stats)),
        // Null pointers are at address 0, which is aligned.
        aligned(rows_aligned<S>(op.cols, op.x, op.gamma, op.beta, op.y, op.a, op.bias, op.sum)) {}

  /// A pack of what is normalised, with `fill` behind the row's end.
  __device__ __forceinline__ Values<S> input(int64_t row, int64_t col, float fill) const {
    const int64_t at = row * cols, count = cols - col;
    Values<S> pack;
    if (before.sum == nullptr) {
      load_pack(x + at + col, count, aligned, fill, pack.lane);
    } else {
      pack = summed_pack<false>(col, count, x + at, before.a + at, before.bias, aligned);
#pragma unroll
      for (int lane = 0; lane < kLanes<S>; ++lane)
        if (lane >= count) pack.lane[lane] = fill;
    }
    return pack;
  }

  __device__ __forceinline__ Moments<float> moments(int64_t row) const {
    __shared__ float shared[kRowThreads / 32];
    float sum[kPlayed] = {}, squares[kPlayed] = {};
    const auto each = [&](float fill, auto&& body) {
#pragma unroll
      for (int played = 0; played < kPlayed; ++played)
        for (int64_t col = int64_t{threadIdx.x + played * kThreads} * kLanes<S>; col < cols;
             col += int64_t{kRowThreads} * kLanes<S>) {
          const Values<S> pack = input(row, col, fill);
#pragma unroll
          for (int lane = 0; lane < kLanes<S>; ++lane) body(played, pack.lane[lane]);
        }
    };
    each(0, [&](int played, float value) { sum[played] += value; });
    const float mean = block_sum(sum, shared) / static_cast<float>(cols);
    each(mean, [&](int played, float value) { squares[played] += (value - mean) * (value - mean); });
    const float variance = block_sum(squares, shared) / static_cast<float>(cols);
    return {mean, 1.0f / std::sqrt(variance + epsilon)};
  }

  template <int kRows>
  __device__ __forceinline__ void load(const ProductView<S>& p, int64_t first, bool stores,
                                       float* out) const {
    for (int row = 0; row < kRows; ++row) {
      const bool exists = row < p.rows;
      const Moments<float> own = exists ? moments(row) : Moments<float>{};
      for (int at = static_cast<int>(threadIdx.x) * kLanes<S>; at < kSliceRows; at += kThreads * kLanes<S>) {
        const int64_t col = first + at, count = cols - col;
        const bool has = exists && count > 0;
        Values<S> pack{}, normed{};
        if (has) {
          pack = input(row, col, own.mean);
          normed = normed_pack<false>(col, count, pack, gamma, beta, own, aligned);
        }
#pragma unroll
        for (int lane = 0; lane < kLanes<S>; ++lane)
          out[row * kSliceRows + at + lane] = has && lane < count ? as_stored<S>(normed.lane[lane]) : 0.0f;
        if (!has || !stores) continue;
        store_pack(y + row * cols + col, count, aligned, normed.lane);
        if (before.sum != nullptr) store_pack(before.sum + row * cols + col, count, aligned, pack.lane);
      }
      if (!exists || !stores || first != 0 || threadIdx.x != 0) continue;
      stats[2 * row] = own.mean;
      stats[2 * row + 1] = own.inverse;
    }
  }
};

/// Where the blocks of one strip meet.
struct Meeting {
  int64_t first_strip, strips;  // of this launch
  float* parts;                 // [slices, strips of this launch, kRows, columns of a strip]
  unsigned* tickets;            // [strips]
};

template <class S, int kRows>
struct Shared {
  static constexpr size_t kW = kWBytes, kX = size_t{kRows} * kSliceRows * sizeof(float),
                          kSums = size_t{kWarps} * kRows * kStripCols<S> * sizeof(float);
  static constexpr size_t kBytes = kW + kX + kSums;
};

template <class S, int kRows, class Rows>
__global__ void __launch_bounds__(kThreads, kResident<kRows>)
    token_product_kernel(ProductView<S> p, Rows rows, Ending<S> ending, Meeting meeting) {
  constexpr int kPart = kRows * kStripCols<S>;
  unsigned char* memory = block_memory();
  auto* const w = reinterpret_cast<Pack<S>*>(memory);
  auto* const x = reinterpret_cast<float*>(memory + Shared<S, kRows>::kW);
  auto* const sums = reinterpret_cast<float*>(memory + Shared<S, kRows>::kW + Shared<S, kRows>::kX);
  const int slices = static_cast<int>(pieces(p.depth, kSliceRows));
  const int strip = static_cast<int>(blockIdx.x) / slices, slice = static_cast<int>(blockIdx.x) % slices;
  const int64_t first = int64_t{slice} * kSliceRows;
  const int64_t first_col = (meeting.first_strip + strip) * kStripCols<S>;
  const int pack = static_cast<int>(threadIdx.x) % kPacks, first_row = static_cast<int>(threadIdx.x) / kPacks;
  const int64_t col = first_col + pack * kLanes<S>;

  // A thread multiplies the packs that it copies itself, so no other thread waits for them.
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    const int row = first_row + i * kRowStep;
    const bool exists = first + row < p.depth && col < p.cols;
    p.copy(&w[row * kPacks + pack], p.w + (first + row) * p.w_stride + col, exists, p.cols - col);
  }
  let_next_kernel_begin();
  wait_for_kernel_before();
  rows.template load<kRows>(p, first, meeting.first_strip + strip == 0, x);
  __syncthreads();
  wait_for_copies();

  float sum[kRows][kLanes<S>] = {};
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    const int row = first_row + i * kRowStep;
    const Pack<S> factors = w[row * kPacks + pack];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float factor = x[r * kSliceRows + row];
#pragma unroll
      for (int lane = 0; lane < kLanes<S>; ++lane)
        sum[r][lane] = fma(factor, widen(factors.lane[lane]), sum[r][lane]);
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int lane = 0; lane < kLanes<S>; ++lane) {
#pragma unroll
      for (int offset = kPacks; offset < 32; offset *= 2)
        sum[r][lane] += __shfl_xor_sync(0xFFFFFFFFu, sum[r][lane], offset);
      if (threadIdx.x % 32 < kPacks)
        sums[threadIdx.x / 32 * kPart + r * kStripCols<S> + pack * kLanes<S> + lane] = sum[r][lane];
    }
  __syncthreads();

  const auto for_elements = [&](auto&& body) {
    for (int at = static_cast<int>(threadIdx.x); at < kPart; at += kThreads) {
      const int row = at / kStripCols<S>, of_strip = at % kStripCols<S>;
      if (row < p.rows && first_col + of_strip < p.cols) body(row, first_col + of_strip, at);
    }
  };
  const auto sum_of_block = [&](int at) {
    float total = sums[at];
#pragma unroll
    for (int warp = 1; warp < kWarps; ++warp) total += sums[warp * kPart + at];
    return total;
  };
  if (slices == 1)
    return for_elements(
        [&](int64_t row, int64_t at_col, int at) { ending.store(row, at_col, sum_of_block(at)); });
  const int64_t apart = meeting.strips * kPart;  // between a strip's parts of two slices
  float* const parts = meeting.parts + strip * int64_t{kPart};
  for_elements([&](int64_t, int64_t, int at) { parts[slice * apart + at] = sum_of_block(at); });
  if (!is_last_block(meeting.tickets + strip, static_cast<unsigned>(slices))) return;
  for_elements([&](int64_t row, int64_t at_col, int at) {
    float total = __ldcg(parts + at);
#pragma unroll 8
    for (int other = 1; other < slices; ++other) total += __ldcg(parts + other * apart + at);
    ending.store(row, at_col, total);
  });
}

/// The same for a W that is stored [cols, depth], as the tied logits have it: a warp takes some columns, each
/// of which is a row of W, and its lanes take turns along k.
template <class S, int kRows>
__global__ void __launch_bounds__(kThreads, kResident<kRows>)
    turned_product_kernel(ProductView<S> p, Ending<S> ending, bool x_aligned) {
  constexpr int kTurn = 32 * kLanes<S>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t first_col = (int64_t{blockIdx.x} * kWarps + threadIdx.x / 32) * kColsOfAWarp;
  // A thread's own packs, [kColsOfAWarp, kTurnsAhead], with those of the other threads in between.
  auto* const w = reinterpret_cast<Pack<S>*>(block_memory()) + threadIdx.x;
  float sum[kColsOfAWarp][kRows] = {};
  for (int64_t first = 0; first < p.depth; first += kTurnsAhead * kTurn) {
    const int64_t begin = first + lane * kLanes<S>;
#pragma unroll
    for (int c = 0; c < kColsOfAWarp; ++c)
#pragma unroll
      for (int turn = 0; turn < kTurnsAhead; ++turn) {
        const int64_t at = begin + turn * kTurn;
        const bool exists = at < p.depth && first_col + c < p.cols;
        p.copy(w + (c * kTurnsAhead + turn) * kThreads, p.w + (first_col + c) * p.w_stride + at, exists,
               p.depth - at);
      }
    if (first == 0) {
      let_next_kernel_begin();
      wait_for_kernel_before();
    }
    wait_for_copies();
    for (int turn = 0; turn < kTurnsAhead; ++turn) {
      const int64_t at = begin + turn * kTurn;
      if (at >= p.depth) break;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (r >= p.rows) break;
        float x[kLanes<S>];
        load_pack(p.x + r * p.x_stride + at, p.depth - at, x_aligned, 0.0f, x);
#pragma unroll
        for (int c = 0; c < kColsOfAWarp; ++c) {
          const Pack<S> factors = w[(c * kTurnsAhead + turn) * kThreads];
#pragma unroll
          for (int l = 0; l < kLanes<S>; ++l) sum[c][r] = fma(x[l], widen(factors.lane[l]), sum[c][r]);
        }
      }
    }
  }
#pragma unroll
  for (int c = 0; c < kColsOfAWarp; ++c)
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2)
        sum[c][r] += __shfl_xor_sync(0xFFFFFFFFu, sum[c][r], offset);
      // Each by a lane of its own, so that they are stored at the same time.
      if (lane == c * kRows + r && r < p.rows && first_col + c < p.cols)
        ending.store(r, first_col + c, sum[c][r]);
    }
}

/// Calls compute(std::integral_constant<int, kRows>) with the fewest rows that a kernel is compiled for.
template <class Compute>
void with_rows(int64_t rows, Compute&& compute) {
  if (rows == 1) return compute(std::integral_constant<int, 1>{});
  if (rows == 2) return compute(std::integral_constant<int, 2>{});
  if (rows <= 4) return compute(std::integral_constant<int, 4>{});
  compute(std::integral_constant<int, 8>{});
}

/// Launches as many strips at a time as the scratch and the tickets are for: nearly always all.
template <class S, int kRows, class Rows>
void multiply(const Operation& operation, const ProductView<S>& p, const Rows& rows,
              const Ending<S>& ending) {
  const int64_t slices = pieces(p.depth, kSliceRows), strips = pieces(p.cols, kStripCols<S>);
  const int64_t part_bytes = slices * kRows * kStripCols<S> * static_cast<int64_t>(sizeof(float));
  const int64_t most =
      std::min(CudaDevice::kTickets,
               std::max<int64_t>(1, static_cast<int64_t>(operation.scratch_bytes()) / part_bytes));
  for (int64_t first = 0; first < strips; first += most) {
    const Meeting meeting{first, std::min(most, strips - first), operation.scratch<float>(),
                          operation.tickets()};
    operation.launch_for_token(token_product_kernel<S, kRows, Rows>, meeting.strips * slices, kThreads,
                               Shared<S, kRows>::kBytes, p, rows, ending, meeting);
  }
}

template <class S>
void multiply(const Operation& operation, const TokenProduct& op) {
  const ProductView<S> p(op.product);
  const Ending<S> ending(op);
  with_rows(p.rows, [&](auto rows) {
    if (op.product.transpose_b)
      return operation.launch_for_token(turned_product_kernel<S, rows>, pieces(p.cols, kWarps * kColsOfAWarp),
                                        kThreads, kWBytes, p, ending, rows_aligned<S>(p.x_stride, p.x));
    if (op.norm) return multiply<S, rows>(operation, p, NormedRows<S>(*op.norm), ending);
    multiply<S, rows>(operation, p, PlainRows<S>{}, ending);
  });
}

/// What the product and the steps after it write. Their own order is kept: an element's results are written
/// by one thread.
struct Results {
  Region c, before, sum;

  explicit Results(const TokenProduct& op)
      : c{op.product.c, op.product.m * op.product.ldc, op.product.dtype},
        before{op.product.after == AfterProduct::Nothing ? nullptr : op.product.before,
               op.product.m * op.product.n, op.product.dtype},
        sum{op.sum ? op.sum->y : nullptr, op.product.m * op.product.n, op.product.dtype} {}
};

/// True if the product's kernel can begin with this LayerNorm. A W that is stored transposed has so many
/// blocks that each would compute the moments again. What the first strip's blocks store of the norm, another
/// strip's last block must not read for the sum at the end.
bool joins_norm(const TokenProduct& op) {
  const LayerNorm& norm = *op.norm;
  const Gemm& product = op.product;
  const Results results(op);
  const int64_t count = norm.rows * norm.cols;
  const DType dtype = norm.dtype;
  const Region addend{op.sum ? op.sum->addend : nullptr, product.m * product.n, product.dtype};
  const Region normed{norm.y, count, dtype}, summed{norm.a == nullptr ? nullptr : norm.sum, count, dtype};
  return !product.transpose_b && dtype == product.dtype && norm.y == product.a && norm.rows == product.m &&
         norm.cols == product.k && product.lda == product.k && are_apart({addend}, {normed, summed}) &&
         are_apart({results.c, results.before, results.sum}, {{norm.x, count, dtype},
                                                              {norm.a, count, dtype},
                                                              summed,
                                                              {norm.stats, 2 * norm.rows, DType::Fp32}});
}

/// True if the product's kernel can end with this sum.
bool joins_sum(const TokenProduct& op) {
  const BiasAdd& sum = *op.sum;
  const Gemm& product = op.product;
  const Results results(op);
  return sum.dtype == product.dtype && sum.x == product.c && product.ldc == product.n &&
         sum.rows == product.m && sum.cols == product.n &&
         are_apart({results.sum},
                   {{product.a, product.m * product.lda, product.dtype}, results.before, results.c});
}

}  // namespace

bool suits_token_product(const Gemm& gemm) {
  return gemm.m > 0 && gemm.m <= kFewTokens && gemm.n > 0 && gemm.k > 0 && !gemm.transpose_a &&
         gemm.dtype != DType::Fp64 && !gemm.wide_result && !gemm.accumulate &&
         gemm.after != AfterProduct::GeluGrad;
}

void CudaDevice::token_product(const TokenProduct& op) {
  if (!suits_token_product(op.product)) return token_product_in_parts(*this, op);
  TokenProduct joined = op;
  if (op.sum && !joins_sum(op)) joined.sum.reset();
  if (op.norm && !joins_norm(joined)) {
    layer_norm(*op.norm);
    joined.norm.reset();
  }
  with_element_type(op.product.dtype, "a product of few rows", [&](auto zero) {
    using S = decltype(zero);
    if constexpr (std::is_same_v<Computed<S>, float>)
      multiply<S>(Operation(*this, "a product of few rows"), joined);
  });
  if (op.sum && !joined.sum) bias_add(*op.sum);
}

}  // namespace shardlens::cuda
