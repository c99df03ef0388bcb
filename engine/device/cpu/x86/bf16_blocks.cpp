// bf16 products in blocks. The operands are copied into the layout that oneDNN's AMX kernels read: A dense, B
// in pairs (bf16_pairs.h). A block's sums stay in the cache; they are rounded from there, or written past the
// caches. For a whole matrix the same kernels would copy B again for every few rows and write C in place.
// oneDNN's other implementation (gemm:jit, bf16_gemm.cpp) has half their speed.
//
// oneDNN breaks a long sum depending on the whole shape, with AMX from 705 terms on, so a shard and the full
// product would round differently. This file cuts a sum by its length alone, into parts that oneDNN never
// breaks, and adds them in order. Every extent is padded with zeros. This needs fewer kernels, and avoids odd
// shapes: with some of them oneDNN 2.6 ended the program.
#include "engine/device/cpu/x86/bf16_blocks.h"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "engine/device/cpu/vector.h"
#include "engine/device/cpu/x86/bf16_pairs.h"
#include "engine/device/cpu/x86/onednn.h"

namespace shardlens::cpu {

namespace {

constexpr int64_t kRows = 256, kCols = 384;  // of a block of C
constexpr int64_t kLongestPart = 704;        // of a sum
constexpr size_t kCopiedParts = 3;           // of a sum, at a time
constexpr int64_t kCopiedRows = 1024;        // of A at a time
constexpr int64_t kKeptCols = 3072;  // of C, whose sums are kept if not all parts are copied at a time

// A larger result is not in the cache any more when it is read next.
constexpr int64_t kPastCachesBytes = int64_t{1} << 20;

using Data = dnnl::memory::data_type;
using onednn::at_no_place;
using onednn::matrix;
using onednn::the_engine;

int64_t filled_up_rows(int64_t m) {
  return filled_up(m, kPairedRows);
}
int64_t filled_up_cols(int64_t n) {
  return filled_up(n, kPairedCols);
}
int64_t filled_up_terms(int64_t k) {
  return filled_up(k, kPairedRows);
}

/// The terms of consecutive parts, padded.
int64_t filled_up_terms(std::span<const Range> parts) {
  return filled_up_terms(parts.back().end - parts.front().begin);
}

/// The parts of a sum of k terms. All but the last have the same padded length.
std::vector<Range> parts_of_sum(int64_t k) {
  const int64_t count = (k + kLongestPart - 1) / kLongestPart;
  const int64_t length = filled_up_terms((k + count - 1) / count);
  std::vector<Range> parts;
  for (int64_t begin = 0; begin < k; begin += length) parts.push_back({begin, std::min(k, begin + length)});
  return parts;
}

/// A block's product: sums[m, n] = A[m, k]·B[k, n], or added to what is there.
struct BlockProduct {
  dnnl::matmul primitive;
  dnnl::memory a, b, sums, scratch;
};

/// A thread's kernels, by their extents, and its room for copies. Both are kept from call to call.
class Blocks {
 public:
  void multiply(const Gemm& gemm) {
    const std::vector<Range> parts = parts_of_sum(gemm.k);
    const int64_t step = parts.size() <= kCopiedParts ? gemm.n : kKeptCols;
    for (int64_t row = 0; row < gemm.m; row += kCopiedRows)
      for (int64_t col = 0; col < gemm.n; col += step)
        multiply(gemm, {row, std::min(gemm.m, row + kCopiedRows)}, {col, std::min(gemm.n, col + step)},
                 parts);
  }

 private:
  struct Extents {
    int64_t m, n, k;
    bool accumulate;
    auto operator<=>(const Extents&) const = default;
  };

  using Parts = std::span<const Range>;

  /// Computes C's `rows` and `cols`. If all parts are copied at a time, the blocks share the room for one
  /// block's sums. Otherwise there is room for the sums of all blocks.
  void multiply(const Gemm& gemm, Range rows, Range cols, Parts parts) {
    const size_t copied = std::min(parts.size(), kCopiedParts);
    const bool keeps = copied < parts.size();
    const int64_t kept_rows = keeps ? filled_up_rows(rows.size()) : kRows;
    float* const sums = sums_.room_for<float>(kept_rows * (keeps ? filled_up_cols(cols.size()) : kCols));
    for (size_t first = 0; first < parts.size(); first += copied) {
      const Parts now = parts.subspan(first, std::min(copied, parts.size() - first));
      const std::vector<const Bf16*> a = dense_a(gemm, rows, now);
      for (int64_t col = cols.begin; col < cols.end; col += kCols) {
        const Range strip{col, std::min(cols.end, col + kCols)};
        const int64_t n = filled_up_cols(strip.size());
        const std::vector<const Bf16*> b = copy_b(gemm, strip, now);
        for (int64_t row = 0; row < rows.size(); row += kRows) {
          const Range block{row, std::min(rows.size(), row + kRows)};
          float* const at = keeps ? sums + kept_rows * (col - cols.begin) + row * n : sums;
          multiply_block(now, a, b, block, first > 0, {at, n});
          if (first + copied >= parts.size())
            write(gemm, {rows.begin + block.begin, rows.begin + block.end}, strip, {at, n});
        }
      }
    }
  }

  /// Computes a block's sums over `parts`. `block` are the block's rows. With `accumulate` adds to the sums.
  void multiply_block(Parts parts, const std::vector<const Bf16*>& a, const std::vector<const Bf16*>& b,
                      Range block, bool accumulate, Rows<float> sums) {
    for (size_t part = 0; part < parts.size(); ++part) {
      const int64_t k = filled_up_terms(parts[part].size());
      run(product({filled_up_rows(block.size()), sums.stride, k, accumulate || part > 0}),
          a[part] + block.begin * k, b[part], sums.first);
    }
  }

  /// The rows of op(A), dense, for each part of the sum. Uses A in place if it already has this layout.
  std::vector<const Bf16*> dense_a(const Gemm& gemm, Range rows, Parts parts) {
    const auto* const first = static_cast<const Bf16*>(gemm.a);
    const int64_t m = filled_up_rows(rows.size());
    const bool is_dense = !gemm.transpose_a && gemm.lda == gemm.k && filled_up_terms(gemm.k) == gemm.k;
    if (is_dense && m == rows.size() && parts.front().size() == gemm.k)
      return {first + rows.begin * gemm.lda};
    Bf16* to = a_.room_for<Bf16>(m * filled_up_terms(parts));
    std::vector<const Bf16*> copies;
    for (const Range part : parts) {
      const int64_t k = filled_up_terms(part.size());
      if (gemm.transpose_a) {  // a block at a time: longer rows would evict each other from the cache
        for (int64_t row = 0; row < rows.size(); row += kRows)
          copy_transposed({first + part.begin * gemm.lda + rows.begin + row, gemm.lda},
                          std::min(kRows, rows.size() - row), part.size(), to + row * k);
      } else {
        const Rows<const Bf16> from{first + rows.begin * gemm.lda + part.begin, gemm.lda};
        for (int64_t row = 0; row < rows.size(); ++row)
          std::fill_n(std::copy_n(from.at(row), part.size(), to + row * k), k - part.size(), Bf16(0.0f));
        std::fill_n(to + rows.size() * k, (m - rows.size()) * k, Bf16(0.0f));
      }
      copies.push_back(to);
      to += m * k;
    }
    return copies;
  }

  /// The columns of op(B) in pairs, for each part of the sum.
  std::vector<const Bf16*> copy_b(const Gemm& gemm, Range cols, Parts parts) {
    const auto* const first = static_cast<const Bf16*>(gemm.b);
    const int64_t n = filled_up_cols(cols.size());
    Bf16* to = b_.room_for<Bf16>(filled_up_terms(parts) * n);
    std::vector<const Bf16*> copies;
    for (const Range part : parts) {
      const Bf16* from = gemm.transpose_b ? first + cols.begin * gemm.ldb + part.begin
                                          : first + part.begin * gemm.ldb + cols.begin;
      copy_in_pairs({from, gemm.ldb}, gemm.transpose_b, part.size(), cols.size(), to);
      copies.push_back(to);
      to += filled_up_terms(part.size()) * n;
    }
    return copies;
  }

  /// Adds bias or C to a block's sums and writes them into C, rounded or in fp32.
  static void write(const Gemm& gemm, Range rows, Range cols, Rows<float> sums) {
    const bool past = gemm.m * gemm.n * (gemm.wide_result ? 4 : 2) > kPastCachesBytes && !gemm.accumulate;
    const auto* const bias = static_cast<const Bf16*>(gemm.bias);
    for (int64_t row = 0; row < rows.size(); ++row) {
      const int64_t at = (rows.begin + row) * gemm.ldc + cols.begin;
      if (bias != nullptr) add_to(sums.at(row), bias + cols.begin, cols.size());
      if (gemm.wide_result)
        write_row(gemm, sums.at(row), cols.size(), past, static_cast<float*>(gemm.c) + at);
      else
        write_row(gemm, sums.at(row), cols.size(), past, static_cast<Bf16*>(gemm.c) + at);
    }
    if (past) settle_past_caches();
  }

  template <class S>
  static void add_to(float* sums, const S* addend, int64_t count) {
    for_vectors<float>(count, [&](int64_t i, auto n) {
      store_part<float>(sums + i, load_part(sums + i, n, 0.0f) + load_part(addend + i, n, 0.0f), n);
    });
  }

  template <class S>
  static void write_row(const Gemm& gemm, float* sums, int64_t count, bool past, S* to) {
    if (gemm.accumulate) add_to(sums, to, count);
    past ? write_past_caches(sums, count, to) : convert_row(sums, count, to);
  }

  void run(BlockProduct& product, const Bf16* a, const Bf16* b, float* sums) {
    product.a.set_data_handle(const_cast<Bf16*>(a));
    product.b.set_data_handle(const_cast<Bf16*>(b));
    product.sums.set_data_handle(sums);
    const auto scratch = static_cast<int64_t>(product.scratch.get_desc().get_size());
    product.scratch.set_data_handle(scratch_.room_for<std::byte>(std::max<int64_t>(scratch, 1)));
    product.primitive.execute(stream_, {{DNNL_ARG_SRC, product.a},
                                        {DNNL_ARG_WEIGHTS, product.b},
                                        {DNNL_ARG_DST, product.sums},
                                        {DNNL_ARG_SCRATCHPAD, product.scratch}});
    stream_.wait();
  }

  static dnnl::matmul::primitive_desc describe(const Extents& extents) {
    const dnnl::memory::desc b({extents.k, extents.n}, Data::bf16, dnnl::memory::format_tag::BA16a64b2a);
    return {{matrix(extents.m, extents.k, Data::bf16, false, extents.k), b,
             matrix(extents.m, extents.n, Data::f32, false, extents.n)},
            onednn::attributes(extents.accumulate),
            the_engine()};
  }

  BlockProduct& product(const Extents& extents) {
    const auto found = products_.find(extents);
    if (found != products_.end()) return found->second;
    const auto desc = describe(extents);
    return products_
        .emplace(extents, BlockProduct{dnnl::matmul(desc), at_no_place(desc.src_desc()),
                                       at_no_place(desc.weights_desc()), at_no_place(desc.dst_desc()),
                                       at_no_place(desc.scratchpad_desc())})
        .first->second;
  }

  dnnl::stream stream_{the_engine()};
  std::map<Extents, BlockProduct> products_;
  onednn::Scratch a_, b_, sums_, scratch_;
};

}  // namespace

bool has_blocks() {
  static const bool has_amx = dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx512_core_amx;
  return has_amx;
}

void multiply_in_blocks(const Gemm& gemm) {
  static thread_local Blocks blocks;
  blocks.multiply(gemm);
}

}  // namespace shardlens::cpu
