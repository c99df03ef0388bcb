// What the tests of passes over few tokens ask of a device: a product with the steps around it, and attention
// of one token to a cache. Each at once or in its parts, whose bits it owes.
#pragma once

#include "tests/engine/device/on_device.h"

namespace shardlens {

/// Of a product: three slices of the CUDA device's, the last of them short.
inline constexpr int64_t kTokenDepth = 500;

inline Gemm token_product_of(const OnDevice& on, int64_t m, int64_t n, bool is_turned) {
  Gemm gemm;
  gemm.dtype = on.dtype;
  gemm.transpose_b = is_turned;
  gemm.m = m;
  gemm.n = gemm.ldc = n;
  gemm.k = gemm.lda = kTokenDepth;
  gemm.ldb = is_turned ? kTokenDepth : n;
  return gemm;
}

struct TokenSteps {
  bool norm, norm_sum, norm_bias, gelu, sum, addend;

  friend void PrintTo(const TokenSteps& a, std::ostream* out) {
    *out << "norm " << a.norm << a.norm_sum << a.norm_bias << ", GeLU " << a.gelu << ", sum " << a.sum
         << a.addend;
  }
};

/// The product and what is around it, at once or one after the other.
inline Outputs multiply_tokens(Device& device, DType dtype, int64_t shift, int64_t rows, int64_t cols,
                               const TokenSteps& steps, bool at_once) {
  return operate(device, dtype, shift, [&](OnDevice& on) {
    unsigned seed = 0;
    const auto in = [&](int64_t count) { return on.in(normal_in(dtype, count, ++seed)); };
    TokenProduct op{.product = token_product_of(on, rows, cols, false)};
    op.product.a = steps.norm ? on.out("y", rows * kTokenDepth) : in(rows * kTokenDepth);
    op.product.b = in(kTokenDepth * cols);
    op.product.bias = in(cols);
    op.product.c = on.out("C", rows * cols);
    if (steps.gelu) {
      op.product.after = AfterProduct::Gelu;
      op.product.before = on.out("H", rows * cols);
    }
    if (steps.norm) {
      LayerNorm norm{.dtype = dtype, .rows = rows, .cols = kTokenDepth, .epsilon = 1e-5};
      norm.x = in(rows * kTokenDepth);
      norm.gamma = in(kTokenDepth);
      norm.beta = in(kTokenDepth);
      norm.y = const_cast<void*>(op.product.a);
      norm.stats = on.out_wide("stats", 2 * rows);
      if (steps.norm_sum) {
        norm.a = in(rows * kTokenDepth);
        norm.sum = on.out("x + (a + b)", rows * kTokenDepth);
        if (steps.norm_bias) norm.bias = in(kTokenDepth);
      }
      op.norm = norm;
    }
    if (steps.sum) {
      op.sum = BiasAdd{.dtype = dtype, .rows = rows, .cols = cols, .x = op.product.c, .bias = in(cols)};
      if (steps.addend) op.sum->addend = in(rows * cols);
      op.sum->y = on.out("Y", rows * cols);
    }
    if (at_once) return on.device.token_product(op);
    if (op.norm) on.device.layer_norm(*op.norm);
    Gemm product = op.product;
    if (steps.gelu) {
      product.after = AfterProduct::Nothing;
      product.c = op.product.before;
    }
    on.device.gemm(product);
    if (steps.gelu) on.device.gelu(dtype, product.form, rows * cols, op.product.before, op.product.c);
    if (op.sum) on.device.bias_add(*op.sum);
  });
}

inline constexpr TokenSteps kTokenSteps[] = {
    {true, false, false, false, false, false}, {true, true, true, true, false, false},
    {true, true, false, false, true, true},    {false, false, false, true, true, false},
    {false, false, false, false, true, true},  {true, true, true, true, true, true}};

struct TokenCase {
  int64_t batch = 1, heads = 3, head_dim = 16, room = 200;
  int32_t position = 150;
  KeyHeads keys = {};  // no heads: as many as query heads, one each
  bool one_call = false;

  bool grouped() const { return keys.heads > 0; }
  int64_t key_heads() const { return grouped() ? keys.heads : heads; }
  friend void PrintTo(const TokenCase& c, std::ostream* out) {
    *out << c.batch << " x " << c.heads << " heads of " << c.head_dim << ", token " << c.position << " of "
         << c.room << (c.grouped() ? ", grouped" : "");
  }
};

inline void attend_token(OnDevice& on, const TokenCase& c) {
  CacheShape shape{.dtype = on.dtype, .batch = c.batch, .seq = 1, .room = c.room, .heads = c.heads};
  shape.head_dim = c.head_dim;
  std::vector<int32_t> positions;  // each sequence is longer than the one before
  for (int64_t i = 0; i < c.batch; ++i) positions.push_back(static_cast<int32_t>(c.position + i));
  shape.positions = on.in_ids(positions);
  shape.grouped = c.grouped();
  shape.keys = c.grouped() ? c.keys : KeyHeads{c.heads, 1, 0};
  const int64_t row = c.key_heads() * c.head_dim;
  TokenAttention op;
  op.append.shape = op.attention.shape = shape;
  op.append.keys = on.in_out(on.dtype, "keys", normal_in(DType::Bf16, c.batch * c.room * row, 1));
  op.append.values = on.in_out(on.dtype, "values", normal_in(DType::Bf16, c.batch * c.room * row, 2));
  op.append.qkv = on.in(normal_in(DType::Bf16, c.batch * (c.grouped() ? 2 : 3) * row, 3));
  op.attention.qkv =
      c.grouped() ? on.in(normal_in(DType::Bf16, c.batch * c.heads * c.head_dim, 4)) : op.append.qkv;
  op.attention.keys = op.append.keys;
  op.attention.values = op.append.values;
  op.attention.probs = on.out("P", c.batch * c.heads * c.room);
  op.attention.context = on.out("C", c.batch * c.heads * c.head_dim);
  const int64_t work = attention_workspace_elements(on.dtype, c.room, c.head_dim);
  op.attention.workspace = on.put(on.wide(), Numbers(static_cast<size_t>(work), NAN));
  if (c.one_call) return on.device.token_attention(op);
  on.device.cache_append(op.append);
  on.device.cached_attention(op.attention);
}
inline Outputs attend_token(Device& device, DType dtype, int64_t shift, const TokenCase& c) {
  return operate(device, dtype, shift, [&](OnDevice& on) { attend_token(on, c); });
}

inline const TokenCase kTokenCases[] = {
    {},
    {.position = 0},
    {.position = 63},
    {.position = 64},
    {.position = 199},
    {.head_dim = 96, .position = 130},
    {.heads = 2, .head_dim = 128, .position = 70},
    {.heads = 2, .head_dim = 13, .position = 70},
    {.batch = 3, .heads = 2, .position = 126},
    {.heads = 5, .position = 100, .keys = {3, 2, 1}},
    {.batch = 2, .heads = 4, .head_dim = 8, .position = 65, .keys = {2, 2, 0}}};

}  // namespace shardlens
