// Compares every operation's gradient with central differences of the operation itself, in fp64. One table
// holds a few lines per operation: how outputs follow from inputs, and what the device calls the gradients.
// The test draws inputs and the incoming gradient dY, takes L = Σ Y ∘ dY, and changes each input element.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <ostream>
#include <string>

#include "engine/device/device.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace finite_difference_test {

using Vector = std::vector<double>;
using Vectors = std::vector<Vector>;

constexpr DType kFp64 = DType::Fp64;

/// One operation at one size. `forward` maps inputs to Y; `backward` gives a gradient for each input from the
/// inputs and dY.
struct Operation {
  std::string name;
  std::vector<int64_t> input_sizes;
  std::function<Vector(Device&, const Vectors&)> forward;
  std::function<Vectors(Device&, const Vectors&, const Vector& dy)> backward;
};

void PrintTo(const Operation& operation, std::ostream* out) {
  *out << operation.name;
}

Vector zeros(int64_t count) {
  return Vector(static_cast<size_t>(count));
}

Vector nans(int64_t count) {  // what an operation must overwrite
  return Vector(static_cast<size_t>(count), NAN);
}

// Y[m, n] = X[m, k]·W + b. W is [k, n], or [n, k] where it is an embedding that serves as the output layer.
Operation linear(bool transposed) {
  constexpr int64_t m = 5, k = 7, n = 6;
  const auto product = [](Device& device, bool ta, bool tb, int64_t rows, int64_t cols, int64_t inner,
                          const Vector& a, const Vector& b, const double* bias) {
    Vector c = nans(rows * cols);
    Gemm gemm;
    gemm.dtype = kFp64;
    gemm.transpose_a = ta;
    gemm.transpose_b = tb;
    gemm.m = rows;
    gemm.n = cols;
    gemm.k = inner;
    gemm.a = a.data();
    gemm.lda = ta ? rows : inner;
    gemm.b = b.data();
    gemm.ldb = tb ? inner : cols;
    gemm.c = c.data();
    gemm.ldc = cols;
    gemm.bias = bias;
    device.gemm(gemm);
    return c;
  };
  return {transposed ? "LinearTransposed" : "Linear",
          {m * k, k * n, n},
          [=](Device& device, const Vectors& in) {
            return product(device, false, transposed, m, n, k, in[0], in[1], in[2].data());
          },
          [=](Device& device, const Vectors& in, const Vector& dy) {
            Vector db = nans(n);
            device.bias_grad(kFp64, m, n, dy.data(), db.data(), false);
            const Vector dw = transposed ? product(device, true, false, n, k, m, dy, in[0], nullptr)
                                         : product(device, true, false, k, n, m, in[0], dy, nullptr);
            return Vectors{product(device, false, !transposed, m, k, n, dy, in[1], nullptr), dw, db};
          }};
}

Operation bias_add() {
  constexpr int64_t rows = 4, cols = 9;
  return {"BiasAdd",
          {rows * cols, cols},
          [](Device& device, const Vectors& in) {
            Vector y = nans(rows * cols);
            device.bias_add({.dtype = kFp64,
                             .rows = rows,
                             .cols = cols,
                             .x = in[0].data(),
                             .bias = in[1].data(),
                             .y = y.data()});
            return y;
          },
          [](Device& device, const Vectors&, const Vector& dy) {
            Vector db = nans(cols);
            device.bias_grad(kFp64, rows, cols, dy.data(), db.data(), false);
            return Vectors{dy, db};
          }};
}

Operation gelu(Activation form) {
  constexpr int64_t count = 50;
  return {form == Activation::GeluTanh ? "GeluTanh" : "GeluErf",
          {count},
          [=](Device& device, const Vectors& in) {
            Vector y = nans(count);
            device.gelu(kFp64, form, count, in[0].data(), y.data());
            return y;
          },
          [=](Device& device, const Vectors& in, const Vector& dy) {
            Vector dx = nans(count);
            device.gelu_grad({.dtype = kFp64,
                              .form = form,
                              .count = count,
                              .x = in[0].data(),
                              .dy = dy.data(),
                              .dx = dx.data()});
            return Vectors{dx};
          }};
}

Operation tanh() {
  constexpr int64_t count = 50;
  const auto forward = [](Device& device, const Vectors& in) {
    Vector y = nans(count);
    device.tanh(kFp64, count, in[0].data(), y.data());
    return y;
  };
  return {
      "Tanh", {count}, forward, [=](Device& device, const Vectors& in, const Vector& dy) {
        const Vector y = forward(device, in);
        Vector dx = nans(count);
        device.tanh_grad({.dtype = kFp64, .count = count, .y = y.data(), .dy = dy.data(), .dx = dx.data()});
        return Vectors{dx};
      }};
}

Operation layer_norm() {
  constexpr int64_t rows = 3, cols = 19;
  constexpr double epsilon = 1e-2;  // large enough to matter
  const auto run = [](Device& device, const Vectors& in, Vector& y, Vector& stats) {
    y = nans(rows * cols);
    stats = nans(2 * rows);
    device.layer_norm({.dtype = kFp64,
                       .rows = rows,
                       .cols = cols,
                       .epsilon = epsilon,
                       .x = in[0].data(),
                       .gamma = in[1].data(),
                       .beta = in[2].data(),
                       .y = y.data(),
                       .stats = stats.data()});
  };
  return {"LayerNorm",
          {rows * cols, cols, cols},
          [=](Device& device, const Vectors& in) {
            Vector y, stats;
            run(device, in, y, stats);
            return y;
          },
          [=](Device& device, const Vectors& in, const Vector& dy) {
            Vector y, stats, dx = nans(rows * cols), dgamma = nans(cols), dbeta = nans(cols);
            run(device, in, y, stats);
            device.layer_norm_grad({.dtype = kFp64,
                                    .rows = rows,
                                    .cols = cols,
                                    .x = in[0].data(),
                                    .gamma = in[1].data(),
                                    .stats = stats.data(),
                                    .dy = dy.data(),
                                    .dx = dx.data(),
                                    .dgamma = dgamma.data(),
                                    .dbeta = dbeta.data()});
            return Vectors{dx, dgamma, dbeta};
          }};
}

// Rows cut into two unequal shards, the two sums a row of each gathered here as the collective gathers them.
// Inputs: X, gamma and beta of the first shard, then of the second; Y is the shards' one after the
// other.
Operation cut_layer_norm() {
  constexpr int64_t rows = 3, hidden = 19;
  static constexpr std::array<int64_t, 2> cols{10, 9};
  const auto norm_of = [](size_t shard) { return CutNorm{kFp64, rows, cols[shard], hidden}; };
  const auto sums_of = [=](Device& device, const Vectors& in) {
    Vector all = nans(2 * 2 * rows);
    for (size_t shard = 0; shard < cols.size(); ++shard) {
      Vector sums = nans(2 * rows);
      device.layer_norm_sums(norm_of(shard), in[3 * shard].data(), sums.data());
      for (size_t row = 0; row < rows; ++row) std::copy_n(&sums[2 * row], 2, &all[4 * row + 2 * shard]);
    }
    return all;
  };
  const auto apply = [=](Device& device, const Vectors& in, size_t shard, const Vector& sums, Vector& stats) {
    Vector y = nans(rows * cols[shard]);
    device.layer_norm_apply({.norm = norm_of(shard),
                             .epsilon = 1e-2,
                             .ranks = 2,
                             .x = in[3 * shard].data(),
                             .gamma = in[3 * shard + 1].data(),
                             .beta = in[3 * shard + 2].data(),
                             .sums = sums.data(),
                             .y = y.data(),
                             .stats = stats.data()});
    return y;
  };
  return {"CutLayerNorm",
          {rows * cols[0], cols[0], cols[0], rows * cols[1], cols[1], cols[1]},
          [=](Device& device, const Vectors& in) {
            const Vector sums = sums_of(device, in);
            Vector all, stats = nans(2 * rows);
            for (size_t shard = 0; shard < cols.size(); ++shard) {
              const Vector y = apply(device, in, shard, sums, stats);
              all.insert(all.end(), y.begin(), y.end());
            }
            return all;
          },
          [=](Device& device, const Vectors& in, const Vector& dy) {
            Vector whole = zeros(2 * rows), stats = nans(2 * rows);
            apply(device, in, 0, sums_of(device, in), stats);
            Vectors gradients(in.size());
            const std::array<const double*, 2> dys{dy.data(), dy.data() + rows * cols[0]};
            for (size_t shard = 0; shard < cols.size(); ++shard) {
              Vector dsums = nans(2 * rows);
              gradients[3 * shard + 1] = nans(cols[shard]);
              gradients[3 * shard + 2] = nans(cols[shard]);
              device.layer_norm_grad_sums({.norm = norm_of(shard),
                                           .x = in[3 * shard].data(),
                                           .gamma = in[3 * shard + 1].data(),
                                           .stats = stats.data(),
                                           .dy = dys[shard],
                                           .dsums = dsums.data(),
                                           .dgamma = gradients[3 * shard + 1].data(),
                                           .dbeta = gradients[3 * shard + 2].data()});
              for (size_t i = 0; i < dsums.size(); ++i) whole[i] += dsums[i];
            }
            for (size_t shard = 0; shard < cols.size(); ++shard) {
              gradients[3 * shard] = nans(rows * cols[shard]);
              device.layer_norm_grad_apply({.norm = norm_of(shard),
                                            .x = in[3 * shard].data(),
                                            .gamma = in[3 * shard + 1].data(),
                                            .stats = stats.data(),
                                            .dy = dys[shard],
                                            .dsums = whole.data(),
                                            .dx = gradients[3 * shard].data()});
            }
            return gradients;
          }};
}

/// A forward pass of attention, with the tensors that it leaves for the gradient.
struct Attended {
  Vector probs, context, workspace;
  Attention op;

  Attended(Device& device, const Attention& asked)
      : probs(nans(asked.batch * asked.seq * asked.heads * asked.seq)),
        context(nans(asked.batch * asked.seq * asked.heads * asked.head_dim)),
        workspace(nans(attention_workspace_elements(kFp64, asked.seq, asked.head_dim))),
        op(asked) {
    op.saved = probs.data();
    op.context = context.data();
    op.workspace = workspace.data();
    device.attention(op);
  }
  Attended(const Attended&) = delete;
  Attended& operator=(const Attended&) = delete;
};

// `mask` hides keys of the second sequence; with dropout the heads are the middle two of four.
Operation attention(const std::string& name, int64_t seq, bool causal, bool masked, double dropout) {
  constexpr int64_t batch = 2, heads = 2, head_dim = 3;
  Attention shape;
  shape.dtype = kFp64;
  shape.batch = batch;
  shape.seq = seq;
  shape.heads = heads;
  shape.head_dim = head_dim;
  shape.causal = causal;
  shape.dropout = {dropout, 1234, 5};
  shape.all_heads = 4;
  shape.first_head = 1;
  std::vector<int32_t> visible(static_cast<size_t>(batch * seq), 1);
  for (int64_t key = seq / 2; key < seq; ++key) visible[static_cast<size_t>(seq + key)] = 0;
  const auto of = [=](const Vectors& in) {
    Attention op = shape;
    if (masked) op.mask = visible.data();
    op.qkv = in[0].data();
    return op;
  };
  return {"Attention" + name,
          {batch * seq * 3 * heads * head_dim},
          [=](Device& device, const Vectors& in) { return Attended(device, of(in)).context; },
          [=](Device& device, const Vectors& in, const Vector& dy) {
            Vector dqkv = nans(static_cast<int64_t>(in[0].size()));
            const Attended forward(device, of(in));
            device.attention_grad({.forward = forward.op, .dcontext = dy.data(), .dqkv = dqkv.data()});
            return Vectors{dqkv};
          }};
}

// Five query heads from the second of seven on, of which three share a key head: the rank's three key heads
// have two readers, three and none.
Operation grouped_attention(double dropout) {
  constexpr int64_t batch = 2, seq = 6, heads = 5, key_heads = 3, head_dim = 3;
  const auto of = [=](const Vectors& in) {
    Attention op;
    op.dtype = kFp64;
    op.batch = batch;
    op.seq = seq;
    op.heads = heads;
    op.head_dim = head_dim;
    op.causal = true;
    op.dropout = {dropout, 1234, 5};
    op.all_heads = 7;
    op.first_head = 1;
    op.keys = {key_heads, 3, 1};
    op.qkv = in[0].data();
    op.kv = in[1].data();
    return op;
  };
  return {dropout > 0 ? "GroupedAttentionDropout" : "GroupedAttention",
          {batch * seq * heads * head_dim, batch * seq * 2 * key_heads * head_dim},
          [=](Device& device, const Vectors& in) { return Attended(device, of(in)).context; },
          [=](Device& device, const Vectors& in, const Vector& dy) {
            Vector dq = nans(static_cast<int64_t>(in[0].size())),
                   dkv = nans(static_cast<int64_t>(in[1].size()));
            const Attended forward(device, of(in));
            device.attention_grad(
                {.forward = forward.op, .dcontext = dy.data(), .dqkv = dq.data(), .dkv = dkv.data()});
            return Vectors{dq, dkv};
          }};
}

Operation dropout() {
  constexpr int64_t first = 13, count = 60;
  const auto apply = [](Device& device, const Vector& x) {
    Vector y = nans(count);
    device.dropout(kFp64, {0.4, 1234, 5}, {first, 1, count, 0}, x.data(), y.data());
    return y;
  };
  return {"Dropout",
          {count},
          [=](Device& device, const Vectors& in) { return apply(device, in[0]); },
          [=](Device& device, const Vectors&, const Vector& dy) { return Vectors{apply(device, dy)}; }};
}

// A shard of rows 4 to 10 of a table; ids outside give zeros, ids that come twice add up.
Operation embedding() {
  constexpr int64_t tokens = 6, width = 5;
  const Range rows{4, 10};
  const std::vector<int32_t> ids = {4, 9, 2, 7, 9, 10};
  return {"Embedding",
          {rows.size() * width},
          [=](Device& device, const Vectors& in) {
            Vector y = nans(tokens * width);
            device.embedding({.dtype = kFp64,
                              .tokens = tokens,
                              .width = width,
                              .rows = rows,
                              .ids = ids.data(),
                              .table = in[0].data(),
                              .y = y.data()});
            return y;
          },
          [=](Device& device, const Vectors&, const Vector& dy) {
            Vector dtable = nans(rows.size() * width);
            device.embedding_grad({.dtype = kFp64,
                                   .tokens = tokens,
                                   .width = width,
                                   .rows = rows,
                                   .ids = ids.data(),
                                   .dy = dy.data(),
                                   .dtable = dtable.data()});
            return Vectors{dtable};
          }};
}

Operation first_token() {
  constexpr int64_t batch = 3, seq = 4, width = 5;
  return {"FirstToken",
          {batch * seq * width},
          [](Device& device, const Vectors& in) {
            Vector y = nans(batch * width);
            device.first_token(kFp64, batch, seq, width, in[0].data(), y.data());
            return y;
          },
          [](Device& device, const Vectors&, const Vector& dy) {
            Vector dx = nans(batch * seq * width);
            device.first_token_grad(kFp64, batch, seq, width, dy.data(), dx.data());
            return Vectors{dx};
          }};
}

// The whole loss of a vocabulary of 9 in three shards of which the last is mostly padding, its parts summed
// here as the collectives sum them: labels at shard borders, one ignored, unequal token weights, a loss
// scale.
Operation cross_entropy() {
  constexpr int64_t tokens = 6, vocab = 9;
  const std::vector<Range> shards = {{0, 4}, {4, 8}, {8, 12}};
  const std::vector<int32_t> labels = {0, 3, 4, 7, 8, -100};
  const Vector weights = {0.1, 0.2, 0.3, 0.15, 0.25, 0.0};
  struct Reduced {
    Vector max, target, sum;
  };
  const auto shard_of = [=](size_t i) { return VocabShard{kFp64, tokens, shards[i], vocab}; };
  const auto reduce = [=](Device& device, const Vectors& in) {
    Reduced all{Vector(static_cast<size_t>(tokens), -INFINITY), zeros(tokens), zeros(tokens)};
    for (size_t i = 0; i < shards.size(); ++i) {
      Vector max = nans(tokens), target = nans(tokens);
      device.vocab_max(shard_of(i), in[i].data(), max.data());
      device.target_logit(shard_of(i), in[i].data(), labels.data(), target.data());
      for (size_t t = 0; t < max.size(); ++t) {
        all.max[t] = std::max(all.max[t], max[t]);
        all.target[t] += target[t];
      }
    }
    for (size_t i = 0; i < shards.size(); ++i) {
      Vector sum = nans(tokens);
      device.sum_exp(
          {.shard = shard_of(i), .logits = in[i].data(), .max = all.max.data(), .sum = sum.data()});
      for (size_t t = 0; t < sum.size(); ++t) all.sum[t] += sum[t];
    }
    return all;
  };
  return {"CrossEntropy",
          {tokens * 4, tokens * 4, tokens * 4},
          [=](Device& device, const Vectors& in) {
            const Reduced all = reduce(device, in);
            Vector loss = nans(1);
            device.cross_entropy({.dtype = kFp64,
                                  .tokens = tokens,
                                  .max = all.max.data(),
                                  .target = all.target.data(),
                                  .sum = all.sum.data(),
                                  .weights = weights.data(),
                                  .loss = loss.data()});
            return loss;
          },
          [=](Device& device, const Vectors& in, const Vector& dy) {
            const Reduced all = reduce(device, in);
            Vectors gradients;
            for (size_t i = 0; i < shards.size(); ++i) {
              gradients.push_back(nans(tokens * 4));
              device.cross_entropy_grad({.shard = shard_of(i),
                                         .logits = in[i].data(),
                                         .labels = labels.data(),
                                         .max = all.max.data(),
                                         .sum = all.sum.data(),
                                         .weights = weights.data(),
                                         .scale = dy.data(),
                                         .dlogits = gradients.back().data()});
            }
            return gradients;
          }};
}

class FiniteDifferences : public ::testing::TestWithParam<Operation> {};

TEST_P(FiniteDifferences, AgreeWithTheGradient) {
  const Operation& operation = GetParam();
  const auto device = make_cpu_device(1);
  Vectors inputs;
  for (size_t i = 0; i < operation.input_sizes.size(); ++i)
    inputs.push_back(normal<double>(operation.input_sizes[i], static_cast<unsigned>(i + 1)));
  const Vector y = operation.forward(*device, inputs);
  const Vector dy = normal<double>(static_cast<int64_t>(y.size()), 99);
  const Vectors gradients = operation.backward(*device, inputs, dy);
  ASSERT_EQ(gradients.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Vector expected = finite_differences(inputs[i], [&](const Vector& moved) {
      Vectors at = inputs;
      at[i] = moved;
      return dot(operation.forward(*device, at), dy);
    });
    EXPECT_LT(relative_error(gradients[i], expected), 1e-8) << "input " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, FiniteDifferences,
                         ::testing::Values(linear(false), linear(true), bias_add(),
                                           gelu(Activation::GeluTanh), gelu(Activation::GeluErf), tanh(),
                                           layer_norm(), cut_layer_norm(), attention("", 7, false, false, 0),
                                           attention("Causal", 7, true, false, 0),
                                           attention("Long", 70, true, false, 0),
                                           attention("Masked", 8, false, true, 0), grouped_attention(0),
                                           grouped_attention(0.3), attention("Dropout", 7, true, false, 0.3),
                                           dropout(), embedding(), first_token(), cross_entropy()),
                         [](const auto& test) { return test.param.name; });

}  // namespace finite_difference_test
}  // namespace shardlens
