// Experiments with attention: whole heads on a rank, terms of its operands, and the cache of keys and
// values.
#include <numeric>

#include "engine/laboratory/tables.h"

namespace shardlens::lab {
namespace {

// Q, K, V or a gradient of some tokens and heads, and what attention computes from them.
struct Heads {
  Numbers q, k, v;

  int64_t tokens() const { return q.rows; }
  int64_t heads() const { return q.cols / kHeadDim; }
  // [tokens, 2, heads, head_dim]
  Numbers keys_and_values() const {
    Numbers kv(tokens(), 2 * q.cols);
    for (int64_t row = 0; row < tokens(); ++row) {
      std::copy_n(k.data() + row * q.cols, q.cols, kv.data() + row * kv.cols);
      std::copy_n(v.data() + row * q.cols, q.cols, kv.data() + row * kv.cols + q.cols);
    }
    return kv;
  }
};

Numbers keys(const Bench& bench) {
  return bench.drawn("keys", kTokens, kHidden);
}
Numbers values(const Bench& bench) {
  return bench.drawn("values", kTokens, kHidden);
}
Numbers queries(const Bench& bench) {
  return bench.drawn("queries", kTokens, kHidden);
}

Heads of_heads(const Heads& all, Range columns) {
  return {cols_of(all.q, columns), cols_of(all.k, columns), cols_of(all.v, columns)};
}
Heads of_tokens(const Heads& all, Range tokens) {
  return {rows_of(all.q, tokens), rows_of(all.k, tokens), rows_of(all.v, tokens)};
}

// The operands and results of attention, in the order in which they are made.
struct Attended {
  Numbers kv, saved, context, workspace;
  Attention op;

  Attended(const Bench& bench, const Heads& heads)
      : kv(heads.keys_and_values()),
        saved(heads.tokens() * heads.heads(), heads.tokens()),
        context(heads.tokens(), heads.q.cols),
        workspace(1, attention_workspace_elements(DType::Fp32, heads.tokens(), kHeadDim)) {
    op = {.batch = 1,
          .seq = heads.tokens(),
          .heads = heads.heads(),
          .head_dim = kHeadDim,
          .causal = true,
          .all_heads = kHeads,
          .keys = {.heads = heads.heads()},
          .qkv = heads.q.data(),
          .kv = kv.data(),
          .saved = saved.data(),
          .context = context.data(),
          .workspace = workspace.data()};
    bench.device().attention(op);
  }
};

Numbers context_of(const Bench& bench, const Heads& heads) {
  return Attended(bench, heads).context;
}

// The context of one rank's heads, when X is cut by whole heads.
Way by_heads(const char* name, std::function<Heads(const Bench&, const Numbers& held, int rank)> heads,
             const std::function<Numbers(const Bench&, const Heads&)>& of) {
  return {.layout = kByColumns,
          .name = name,
          .joined = Joined::Columns,
          .why =
              "A head uses only its own Q, K and V. Whole heads may lie on different ranks, and nothing is "
              "sent between them.",
          .on_rank = [heads = std::move(heads), of](const Bench& bench, const Numbers& held, int rank) {
            return of(bench, heads(bench, held, rank));
          }};
}

Way by_tokens(std::function<Heads(const Bench&, const Numbers& held, int rank)> heads,
              const std::function<Numbers(const Bench&, const Heads&)>& of) {
  return {.layout = kByTokens,
          .name = "K and V of the own tokens",
          .joined = Joined::Rows,
          .why =
              "A token attends to all earlier tokens. The keys and values of tokens on other ranks are "
              "missing.",
          .is_right = false,
          .on_rank = [heads = std::move(heads), of](const Bench& bench, const Numbers& held, int rank) {
            return of(bench, heads(bench, held, rank));
          }};
}

Experiment query_experiment() {
  Experiment e{.name = "attention, of Q",
               .formula = "C = softmax(Q·Kᵀ/√d)·V",
               .operand = "the queries; K and V are whole",
               .ops = {Op::Attention},
               .whole =
                   [](const Bench& bench, const Numbers& q) {
                     return context_of(bench, {q, keys(bench), values(bench)});
                   },
               .ways = {}};
  e.ways.push_back(
      same_on_each(e, kPartial, Joined::Summed, false,
                   "The softmax is not linear in the scores: exponentials of terms are multiplied "
                   "in the sum, not added."));
  e.ways.push_back(by_tokens(
      [](const Bench& bench, const Numbers& q, int rank) {
        const Range own = bench.token_range(rank);
        return Heads{q, rows_of(keys(bench), own), rows_of(values(bench), own)};
      },
      context_of));
  e.ways.push_back(by_heads(
      "whole heads",
      [](const Bench& bench, const Numbers& q, int rank) {
        const Range own = bench.column_range(rank);
        return Heads{q, cols_of(keys(bench), own), cols_of(values(bench), own)};
      },
      context_of));
  return e;
}

Experiment value_experiment() {
  Experiment e{.name = "attention, of V",
               .formula = "C = P·V, P = softmax(Q·Kᵀ/√d)",
               .operand = "the values; Q and K are whole",
               .ops = {Op::Attention},
               .whole =
                   [](const Bench& bench, const Numbers& v) {
                     return context_of(bench, {queries(bench), keys(bench), v});
                   },
               .ways = {}};
  e.ways.push_back(
      same_on_each(e, kPartial, Joined::Summed, true,
                   "With Q and K whole, P is fixed, and the context is the product P·V: linear in "
                   "V."));
  e.ways.push_back(by_tokens(
      [](const Bench& bench, const Numbers& v, int rank) {
        const Range own = bench.token_range(rank);
        return Heads{rows_of(queries(bench), own), rows_of(keys(bench), own), v};
      },
      context_of));
  e.ways.push_back(by_heads(
      "whole heads",
      [](const Bench& bench, const Numbers& v, int rank) {
        const Range own = bench.column_range(rank);
        return Heads{cols_of(queries(bench), own), cols_of(keys(bench), own), v};
      },
      context_of));
  return e;
}

// dQ of attention from the gradient of its context.
Numbers query_gradient(const Bench& bench, const Heads& heads, const Numbers& dcontext) {
  Attended forward(bench, heads);
  Numbers dq(heads.tokens(), heads.q.cols), dkv(heads.tokens(), 2 * heads.q.cols);
  bench.device().attention_grad(
      {.forward = forward.op, .dcontext = dcontext.data(), .dqkv = dq.data(), .dkv = dkv.data()});
  return dq;
}

Experiment gradient_experiment() {
  const auto all = [](const Bench& bench) { return Heads{queries(bench), keys(bench), values(bench)}; };
  Experiment e{
      .name = "attention gradient",
      .formula = "dQ from dC, with Q, K, V and P kept",
      .operand = "the context's gradient",
      .ops = {Op::AttentionGrad},
      .whole = [=](const Bench& bench, const Numbers& dc) { return query_gradient(bench, all(bench), dc); },
      .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, true,
                                "P, Q, K and V are whole and fixed in the backward pass, so dQ is linear in "
                                "dC."));
  e.ways.push_back({.layout = kByTokens,
                    .name = "K and V of the own tokens",
                    .joined = Joined::Rows,
                    .why = "A token attended to all earlier tokens. Their keys and values, and the gradients "
                           "from them, are on other ranks.",
                    .is_right = false,
                    .on_rank = [=](const Bench& bench, const Numbers& dc, int rank) {
                      return query_gradient(bench, of_tokens(all(bench), bench.token_range(rank)), dc);
                    }});
  e.ways.push_back({.layout = kByColumns,
                    .name = "whole heads",
                    .joined = Joined::Columns,
                    .why = "The gradient of a head's context belongs to that head alone.",
                    .on_rank = [=](const Bench& bench, const Numbers& dc, int rank) {
                      return query_gradient(bench, of_heads(all(bench), bench.column_range(rank)), dc);
                    }});
  return e;
}

// The cache's layout is [room, heads, head_dim], and the laboratory's cache has room for its tokens.
CacheShape cache_shape(int64_t tokens, int64_t heads, const int32_t* positions) {
  return {.batch = 1,
          .seq = tokens,
          .room = kTokens,
          .heads = heads,
          .head_dim = kHeadDim,
          .positions = positions,
          .grouped = true,
          .keys = {.heads = heads}};
}

std::vector<int32_t> positions_of(Range tokens) {
  std::vector<int32_t> positions(static_cast<size_t>(tokens.size()));
  std::iota(positions.begin(), positions.end(), static_cast<int32_t>(tokens.begin));
  return positions;
}

// The keys in the cache after the tokens' keys were appended to an empty one.
Numbers appended(const Bench& bench, const Numbers& new_keys, Range tokens) {
  const Heads heads{new_keys, new_keys, new_keys};
  const Numbers kv = heads.keys_and_values();
  const std::vector<int32_t> positions = positions_of(tokens);
  Numbers kept(kTokens, new_keys.cols), kept_values(kTokens, new_keys.cols);
  bench.device().cache_append({.shape = cache_shape(tokens.size(), heads.heads(), positions.data()),
                               .qkv = kv.data(),
                               .keys = kept.data(),
                               .values = kept_values.data()});
  return kept;
}

Experiment append_experiment() {
  Experiment e{.name = "cache append",
               .formula = "the cache's rows = K of the new tokens",
               .operand = "the keys of new tokens",
               .ops = {Op::CacheAppend},
               .whole =
                   [](const Bench& bench, const Numbers& k) {
                     return appended(bench, k, {0, kTokens});
                   },
               .ways = {}};
  e.ways.push_back(
      same_on_each(e, kPartial, Joined::Summed, true,
                   "Copying changes no number, so a cache of terms can be summed later. It would "
                   "be as large on every rank."));
  e.ways.push_back({.layout = kByTokens,
                    .name = {},
                    .joined = Joined::Summed,
                    .why = "Each rank writes the rows of its tokens and leaves the others 0.",
                    .on_rank = [](const Bench& bench, const Numbers& k, int rank) {
                      return appended(bench, k, bench.token_range(rank));
                    }});
  e.ways.push_back({.layout = kByColumns,
                    .name = "whole heads",
                    .joined = Joined::Columns,
                    .why = "Each rank keeps the keys of its heads, so the cache is cut as the heads are.",
                    .on_rank = [](const Bench& bench, const Numbers& k, int) {
                      return appended(bench, k, {0, kTokens});
                    }});
  return e;
}

// The context of new tokens that read a cache of all tokens.
Numbers cached_context(const Bench& bench, const Numbers& q, const Numbers& k, const Numbers& v,
                       Range tokens) {
  const int64_t heads = q.cols / kHeadDim;
  const std::vector<int32_t> positions = positions_of(tokens);
  Numbers probs(tokens.size() * heads, kTokens), context(tokens.size(), q.cols),
      workspace(1, attention_workspace_elements(DType::Fp32, kTokens, kHeadDim));
  bench.device().cached_attention({.shape = cache_shape(tokens.size(), heads, positions.data()),
                                   .qkv = q.data(),
                                   .keys = k.data(),
                                   .values = v.data(),
                                   .probs = probs.data(),
                                   .context = context.data(),
                                   .workspace = workspace.data()});
  return context;
}

Experiment cached_experiment() {
  Experiment e{.name = "attention with a cache",
               .formula = "C = softmax(Q·Kᵀ/√d)·V, K and V from the cache",
               .operand = "the queries of new tokens",
               .ops = {Op::CachedAttention},
               .whole =
                   [](const Bench& bench, const Numbers& q) {
                     return cached_context(bench, q, keys(bench), values(bench), {0, kTokens});
                   },
               .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, false,
                                "The softmax is not linear in the scores, with a cache or without."));
  e.ways.push_back({.layout = kByTokens,
                    .name = "the whole cache on every rank",
                    .joined = Joined::Rows,
                    .why = "The cache has the keys and values of all tokens, so each token may be computed "
                           "alone.",
                    .on_rank = [](const Bench& bench, const Numbers& q, int rank) {
                      return cached_context(bench, q, keys(bench), values(bench), bench.token_range(rank));
                    }});
  e.ways.push_back({.layout = kByColumns,
                    .name = "whole heads",
                    .joined = Joined::Columns,
                    .why = "A head uses only its own Q and its own part of the cache.",
                    .on_rank = [](const Bench& bench, const Numbers& q, int rank) {
                      const Range own = bench.column_range(rank);
                      return cached_context(bench, q, cols_of(keys(bench), own), cols_of(values(bench), own),
                                            {0, kTokens});
                    }});
  return e;
}

}  // namespace

void add_attention_experiments(std::vector<Experiment>& table) {
  table.push_back(query_experiment());
  table.push_back(value_experiment());
  table.push_back(gradient_experiment());
  table.push_back(append_experiment());
  table.push_back(cached_experiment());
}

}  // namespace shardlens::lab
