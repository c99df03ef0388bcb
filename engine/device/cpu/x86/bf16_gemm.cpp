// bf16 products: with AMX in blocks (bf16_blocks.cpp), otherwise by oneDNN's matmul primitive on the matrices
// in place. A primitive is made once for each shape and kept.
//
// Only one of oneDNN's two implementations is used on matrices in place, gemm:jit. The other one ("brg")
// breaks a long sum depending on the whole shape, so a shard and the full product would round differently
// (found with AMX from k = 705 on). oneDNN 2.6 also ended the program by an illegal instruction in it (B
// transposed, m 455, n 567, k 1535). gemm:jit gave the same bits in 20,000 random parts of random products.
#include "engine/device/cpu/bf16_gemm.h"

#include <omp.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/gemm.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/vector.h"
#include "engine/device/cpu/x86/bf16_blocks.h"
#include "engine/device/cpu/x86/onednn.h"

namespace shardlens::cpu {

namespace {

// A result with more than `most` elements is computed in pieces of `rows` × `cols`. Each piece packs its
// operands again.
struct Pieces {
  int64_t most, rows, cols;
};

// A large result in fp32, a weight's gradient, is computed in pieces that stay in the cache, and then written
// past the cache, because it would not be there any more when it is read next. If the library writes it in
// place, line by line, the product takes a quarter longer.
constexpr Pieces kWide{int64_t{1} << 18, 384, 768};

// A 16-bit result is summed in fp32 scratch of the same number of elements. If packing B is quick or the sum
// is short, pieces whose scratch stays in the cache are at least a tenth faster. Otherwise they cost more
// than they save.
constexpr Pieces kInCache{int64_t{1} << 18, 256, 768};
constexpr Pieces kOfLarge{int64_t{1} << 21, 384, 384};
constexpr int64_t kShortSum = 384;

// The shapes that a thread keeps. A model's step has about twenty; a generation has a new one for every
// prompt.
constexpr size_t kKept = 128;

using Data = dnnl::memory::data_type;
using onednn::at_no_place;
using onednn::matrix;
using onednn::the_engine;

/// The key of a primitive: all of a Gemm except its addresses.
struct Shape {
  bool transpose_a, transpose_b, wide_result, accumulate, bias;
  int64_t m, n, k, lda, ldb, ldc;

  auto operator<=>(const Shape&) const = default;
};

/// A primitive and its operands' descriptions.
struct Product16 {
  dnnl::matmul primitive;
  dnnl::memory a, b, c, bias, scratch;
};

struct DestroyDesc {
  void operator()(dnnl_primitive_desc_t desc) const { dnnl_primitive_desc_destroy(desc); }
};
using PrimitiveDesc = std::unique_ptr<dnnl_primitive_desc, DestroyDesc>;

/// The gemm:jit primitive for this description.
dnnl::matmul::primitive_desc described(const dnnl::matmul::desc& desc,
                                       const dnnl::primitive_attr& attributes) {
  dnnl_primitive_desc_iterator_t every = nullptr;
  dnnl::error::wrap_c_api(
      dnnl_primitive_desc_iterator_create(&every, &desc.data, attributes.get(), the_engine().get(), nullptr),
      "no bf16 matrix product");
  dnnl_status_t status = dnnl_success;
  dnnl_primitive_desc_t found = nullptr;
  while (status == dnnl_success && found == nullptr) {
    dnnl_primitive_desc_t candidate = dnnl_primitive_desc_iterator_fetch(every);
    const char* name = "";
    dnnl_primitive_desc_query(candidate, dnnl_query_impl_info_str, 0, static_cast<void*>(&name));
    if (std::string_view(name) == "gemm:jit") {
      found = candidate;
    } else {
      dnnl_primitive_desc_destroy(candidate);
      status = dnnl_primitive_desc_iterator_next(every);
    }
  }
  dnnl_primitive_desc_iterator_destroy(every);
  dnnl::error::wrap_c_api(found != nullptr ? dnnl_success : dnnl_unimplemented, "no gemm:jit for bf16");
  const PrimitiveDesc owned(found);  // the returned object holds a copy
  return dnnl::matmul::primitive_desc(found);
}

Product16 made(const Shape& s) {
  const Data result = s.wide_result ? Data::f32 : Data::bf16;
  const dnnl::memory::desc a = matrix(s.m, s.k, Data::bf16, s.transpose_a, s.lda);
  const dnnl::memory::desc b = matrix(s.k, s.n, Data::bf16, s.transpose_b, s.ldb);
  const dnnl::memory::desc c = matrix(s.m, s.n, result, false, s.ldc);
  const dnnl::memory::desc bias = s.bias ? matrix(1, s.n, Data::bf16, false, s.n) : dnnl::memory::desc();
  const dnnl::matmul::primitive_desc desc = described({a, b, bias, c}, onednn::attributes(s.accumulate));
  return {dnnl::matmul(desc),
          at_no_place(a),
          at_no_place(b),
          at_no_place(c),
          s.bias ? at_no_place(bias) : dnnl::memory(),
          at_no_place(desc.scratchpad_desc())};
}

/// A thread's primitives, and one scratch for all of them. Both are kept from call to call.
class Kept {
 public:
  void multiply(const Gemm& gemm) {
    Product16& product = of(gemm);
    product.a.set_data_handle(const_cast<void*>(gemm.a));
    product.b.set_data_handle(const_cast<void*>(gemm.b));
    product.c.set_data_handle(gemm.c);
    std::unordered_map<int, dnnl::memory> operands = {
        {DNNL_ARG_SRC, product.a}, {DNNL_ARG_WEIGHTS, product.b}, {DNNL_ARG_DST, product.c}};
    const auto scratch = static_cast<int64_t>(product.scratch.get_desc().get_size());
    if (scratch > 0) {
      product.scratch.set_data_handle(scratch_.room_for<std::byte>(scratch));
      operands.insert({DNNL_ARG_SCRATCHPAD, product.scratch});
    }
    if (gemm.bias != nullptr) {
      product.bias.set_data_handle(const_cast<void*>(gemm.bias));
      operands.insert({DNNL_ARG_BIAS, product.bias});
    }
    product.primitive.execute(stream_, operands);
    stream_.wait();
  }

 private:
  Product16& of(const Gemm& gemm) {
    const Shape shape{
        gemm.transpose_a, gemm.transpose_b, gemm.wide_result, gemm.accumulate, gemm.bias != nullptr,
        gemm.m,           gemm.n,           gemm.k,           gemm.lda,        gemm.ldb,
        gemm.ldc};
    const auto found = products_.find(shape);
    if (found != products_.end()) return found->second;
    if (products_.size() == kKept) products_.clear();
    return products_.emplace(shape, made(shape)).first->second;
  }

  dnnl::stream stream_{the_engine()};
  std::map<Shape, Product16> products_;
  onednn::Scratch scratch_;
};

/// The part of the product that computes C's `rows` and `cols`.
Gemm part_of(const Gemm& gemm, Range rows, Range cols) {
  const auto at = [](const void* first, int64_t row, int64_t stride, int64_t col) {
    return static_cast<const Bf16*>(first) + row * stride + col;
  };
  Gemm part = gemm;
  part.m = rows.size();
  part.n = cols.size();
  part.a = gemm.transpose_a ? at(gemm.a, 0, 0, rows.begin) : at(gemm.a, rows.begin, gemm.lda, 0);
  part.b = gemm.transpose_b ? at(gemm.b, cols.begin, gemm.ldb, 0) : at(gemm.b, 0, 0, cols.begin);
  const int64_t c = rows.begin * gemm.ldc + cols.begin;
  part.c = gemm.wide_result ? static_cast<void*>(static_cast<float*>(gemm.c) + c)
                            : static_cast<void*>(static_cast<Bf16*>(gemm.c) + c);
  if (gemm.bias != nullptr) part.bias = static_cast<const Bf16*>(gemm.bias) + cols.begin;
  return part;
}

void multiply(const Gemm& gemm) {
  static thread_local Kept kept;
  omp_set_num_threads(1);  // only for this thread: oneDNN would otherwise start a team in every rank
  try {
    has_blocks() ? multiply_in_blocks(gemm) : kept.multiply(gemm);
  } catch (const dnnl::error& error) {
    throw run_error("oneDNN refused the bf16 GEMM m " + std::to_string(gemm.m) + ", n " +
                    std::to_string(gemm.n) + ", k " + std::to_string(gemm.k) + ": " + error.what());
  }
}

Pieces pieces_of(const Gemm& gemm) {
  if (gemm.wide_result) return kWide;
  return gemm.transpose_b || gemm.k <= kShortSum ? kInCache : kOfLarge;
}

void multiply_large(const Gemm& gemm) {
  static thread_local std::vector<float> tile(kWide.rows * kWide.cols);
  const Rows<float> result{static_cast<float*>(gemm.c), gemm.ldc}, sums{tile.data(), gemm.n};
  if (gemm.accumulate)
    for (int64_t row = 0; row < gemm.m; ++row) std::copy_n(result.at(row), gemm.n, sums.at(row));
  Gemm into_tile = gemm;
  into_tile.c = sums.first;
  into_tile.ldc = sums.stride;
  multiply(into_tile);
  for (int64_t row = 0; row < gemm.m; ++row) write_past_caches(sums.at(row), gemm.n, result.at(row));
  settle_past_caches();
}

}  // namespace

bool has_bf16_instructions() {
  static const bool has = [] {
    const auto isa = dnnl::get_effective_cpu_isa();
    return isa == dnnl::cpu_isa::avx512_core_amx ||
           (isa == dnnl::cpu_isa::avx512_core_bf16 && __builtin_cpu_is("amd"));
  }();
  return has;
}

void bf16_gemm(const Gemm& gemm, int threads) {
  const Grid grid = choose_grid(threads, gemm.m, gemm.n);
  parallel_for(threads, grid.rows * grid.cols, [&](int64_t index) {
    const auto [rows, cols] = tile_of(grid, gemm.m, gemm.n, index);
    const Pieces pieces = pieces_of(gemm);
    if (has_blocks() || rows.size() * cols.size() <= pieces.most) return multiply(part_of(gemm, rows, cols));
    for (int64_t row = rows.begin; row < rows.end; row += pieces.rows)
      for (int64_t col = cols.begin; col < cols.end; col += pieces.cols) {
        const Gemm part = part_of(gemm, {row, std::min(rows.end, row + pieces.rows)},
                                  {col, std::min(cols.end, col + pieces.cols)});
        gemm.wide_result ? multiply_large(part) : multiply(part);
      }
  });
}

}  // namespace shardlens::cpu
