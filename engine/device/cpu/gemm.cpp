// The GEMM: cuts C into tiles, one for a thread, and chooses how a tile is computed: a single row by
// gemv.cpp, the others by the whole product of the kernels that the build has (whole_product.h). One thread
// computes one product. The order of a sum does not depend on m, n or the threads, so a column shard has the
// bits of the full product's columns.
#include "engine/device/cpu/gemm.h"

#include <algorithm>

#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/gemv.h"
#include "engine/device/cpu/half_gemm.h"
#include "engine/device/cpu/panel_gemm.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/whole_product.h"
#include "engine/device/product_and_pass.h"

namespace shardlens::cpu {

namespace {

// Tiles begin at common multiples of the libraries' register blocks, so that an element takes the same kernel
// as in the whole product. A tile has a least size: a thinner one takes another kernel (see multiply), or
// costs more in packing than the threads gain. The step is smaller for rows: with 48, two threads got 528 and
// 496 of 1,024 rows, and one of them waited.
constexpr int64_t kTileRowStep = 16;
constexpr int64_t kTileColStep = 48;
constexpr int64_t kMinTile = 96;

/// Handles products without any work: empty ones, and those with k = 0. False if there is work left.
template <class T>
bool is_trivial(const Product<T>& product) {
  if (product.m == 0 || product.n == 0) return true;
  if (product.k > 0) return false;
  for (int64_t row = 0; !product.accumulate && row < product.m; ++row)
    std::fill_n(product.c.at(row), product.n, T(0));
  return true;
}

template <class T>
void multiply_row(const Product<T>& p) {
  multiply_row(RowProduct<T, T>{p.a.first, p.b, p.c.first}, p.transpose_b, p.n, p.k, p.accumulate);
}

template <class T>
void multiply_any(const Product<T>& product) {
  if (is_trivial(product)) return;
  is_one_row(product) ? multiply_row(product) : multiply_whole(product);
}

/// Computes one tile of C = op(A)·op(B) + bias.
template <class T>
void multiply_tile(const Gemm& gemm, Range rows, Range cols) {
  const Rows<const T> a{static_cast<const T*>(gemm.a), gemm.lda}, b{static_cast<const T*>(gemm.b), gemm.ldb};
  const Rows<T> c = Rows<T>{static_cast<T*>(gemm.c), gemm.ldc}.from(rows.begin, cols.begin);
  if (gemm.bias != nullptr)  // the sum starts from the bias: one pass over C less than adding it at the end
    for (int64_t row = 0; row < rows.size(); ++row)
      std::copy_n(static_cast<const T*>(gemm.bias) + cols.begin, cols.size(), c.at(row));
  multiply(Product<T>{.transpose_a = gemm.transpose_a,
                      .transpose_b = gemm.transpose_b,
                      .m = rows.size(),
                      .n = cols.size(),
                      .k = gemm.k,
                      .a = gemm.transpose_a ? a.from(0, rows.begin) : a.from(rows.begin),
                      .b = gemm.transpose_b ? b.from(cols.begin) : b.from(0, cols.begin),
                      .c = c,
                      .accumulate = gemm.accumulate || gemm.bias != nullptr});
}

/// Part `index` of `parts` of `extent`, in whole steps.
Range part_in_steps(int64_t extent, int64_t step, int64_t parts, int64_t index) {
  const int64_t steps = (extent + step - 1) / step;
  const Range range = shard_range(steps, static_cast<int>(parts), static_cast<int>(index));
  return {range.begin * step, std::min(extent, range.end * step)};
}

}  // namespace

// Chooses the grid with the least packing: op(B) is packed once for each row of tiles, op(A) once for each
// column.
Grid choose_grid(int threads, int64_t m, int64_t n) {
  Grid best;
  int64_t least = -1;
  for (int64_t rows = 1; rows <= threads; ++rows) {
    if (threads % rows != 0) continue;
    const Grid grid{std::clamp<int64_t>(m / kMinTile, 1, rows),
                    std::clamp<int64_t>(n / kMinTile, 1, threads / rows)};
    const int64_t packed = grid.rows * n + grid.cols * m;
    const bool busier = grid.rows * grid.cols > best.rows * best.cols;
    const bool equally_busy = grid.rows * grid.cols == best.rows * best.cols;
    if (least < 0 || busier || (equally_busy && packed < least)) {
      best = grid;
      least = packed;
    }
  }
  return best;
}

Tile tile_of(const Grid& grid, int64_t m, int64_t n, int64_t index) {
  return {part_in_steps(m, kTileRowStep, grid.rows, index / grid.cols),
          part_in_steps(n, kTileColStep, grid.cols, index % grid.cols)};
}

void multiply(const Product<float>& product) {
  multiply_any(product);
}
void multiply(const Product<double>& product) {
  multiply_any(product);
}

int64_t CpuDevice::panel_cols() const {
  return kPanelCols;
}

void CpuDevice::gemm(const Gemm& gemm) {
  if (gemm.after != AfterProduct::Nothing || gemm.sums.db != nullptr) return product_and_pass(*this, gemm);
  if (gemm.b_panel_cols > 0) return panel_gemm(*this, gemm, threads_);
  if (is_half(gemm.dtype)) return half_gemm(gemm, threads_);
  with_wide_type(gemm.dtype, "a GEMM", [&](auto zero) {
    using T = decltype(zero);
    const Grid grid = choose_grid(threads_, gemm.m, gemm.n);
    parallel_for(threads_, grid.rows * grid.cols, [&](int64_t index) {
      const Tile tile = tile_of(grid, gemm.m, gemm.n, index);
      multiply_tile<T>(gemm, tile.rows, tile.cols);
    });
  });
}

}  // namespace shardlens::cpu
