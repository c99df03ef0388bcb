// Derives attention and its gradient, head by head: a rank has whole heads, so nothing is sent between.
#include <fmt/format.h>

#include <string>

#include "engine/base/counted.h"
#include "engine/derivation/deriver.h"

namespace shardlens::formulas {
namespace {

/// The matrices of head i in one sequence. Grouped queries share the keys and values of head j.
struct Head {
  Math q, k, v, s, p, c, mask;
  Math root;  ///< √d
  int64_t tokens = 0, keys = 0, features = 0, sequences = 1;
  bool grouped = false;
};

Math gradient_of(Math symbol) {
  symbol.text.insert(0, "d");
  return symbol;
}

Head head_of(const Deriver& d) {
  const Program& program = d.program();
  const Model& model = program.settings.model;
  Head head;
  const bool cached = d.step().op == Op::CachedAttention;
  head.sequences = std::max<int64_t>(d.step().attributes.batch, 1);
  head.tokens = d.tensor(d.in(Operand::Q)).shape[0] / head.sequences;
  head.keys = cached ? d.tensor(d.in(Operand::Keys)).shape[0] / head.sequences : head.tokens;
  head.features = model.head_dim();
  head.grouped = model.is_grouped();
  const Extent tokens = fixed(head.tokens), keys = fixed(head.keys), features = fixed(head.features);
  const std::string key_head = head.grouped ? "j" : "i";
  head.q = Deriver::named("Qi", tokens, features);
  head.k = Deriver::named("K" + key_head, keys, features);
  head.v = Deriver::named("V" + key_head, keys, features);
  head.s = Deriver::named("Si", tokens, keys);
  head.p = Deriver::named("Pi", tokens, keys);
  head.c = Deriver::named("Ci", tokens, features);
  head.mask = Deriver::named("mask", tokens, keys);
  head.root = function("√", {number(std::to_string(head.features))});
  return head;
}

/// "rank 0: heads 0 to 2, rank 3: heads 9 to 11", of a tensor that is cut between heads.
std::string heads_remark(const Deriver& d, TensorId id) {
  const Tensor& tensor = d.tensor(id);
  if (tensor.layout.dim < 0) return d.ranks() > 1 ? "every rank computes all heads" : "all heads";
  const int64_t units = tensor.shape[static_cast<size_t>(tensor.layout.dim)];
  int64_t each = 1;  // grouped queries are cut between units of several heads
  for (size_t dim = static_cast<size_t>(tensor.layout.dim) + 1; dim + 1 < tensor.shape.size(); ++dim)
    each *= tensor.shape[dim];
  const auto words = [&](int rank) {
    const Range range = slice_of(tensor.layout, units, d.ranks(), rank);
    if (range.size() == 0) return fmt::format("rank {}: none", rank);
    const int64_t first = range.begin * each, last = range.end * each - 1;
    return first == last ? fmt::format("rank {}: head {}", rank, first)
                         : fmt::format("rank {}: heads {} to {}", rank, first, last);
  };
  return fmt::format("whole heads, nothing is sent; {}, {}", words(0), words(d.ranks() - 1));
}

std::string sizes_of(int64_t a_rows, int64_t a_cols, int64_t b_cols) {
  return fmt::format("{}×{} · {}×{} = {}×{}", a_rows, a_cols, a_cols, b_cols, a_rows, b_cols);
}

/// What attention reads, as matrices over all heads.
void say_inputs(Deriver& d, const Head& head, bool keys_too) {
  const Math q = d.whole(d.in(Operand::Q));
  const Extent tokens = rows_of(q.tensor);
  const int64_t heads = d.program().settings.model.heads * head.features;
  const auto part = [&](const char* name, int64_t width) {
    return Deriver::named(name, tokens, fixed(width));
  };
  const std::string remark =
      fmt::format("{} of {} features, {} of {} tokens", counted(d.program().settings.model.heads, "head"),
                  head.features, counted(head.sequences, "sequence"), head.tokens);
  if (!head.grouped && keys_too)
    return d.line(q, block_row({part("Q", heads), part("K", heads), part("V", heads)}), remark);
  if (!head.grouped) return;
  if (!d.has(Operand::Kv)) return;
  const Math kv = d.whole(d.in(Operand::Kv));
  const int64_t key_heads = d.program().settings.model.key_heads();
  d.line(kv, block_row({part("K", key_heads * head.features), part("V", key_heads * head.features)}),
         fmt::format("{} share {}: j is that of i", counted(d.program().settings.model.heads, "query head"),
                     counted(key_heads, "key head")));
}

/// P with the dropout that is applied to it.
Math dropped(const Deriver& d, const Head& head, const Math& p) {
  const double share = d.step().attributes.dropout;
  if (share == 0) return p;
  return entrywise({p, quotient(head.mask, difference(number("1"), number(fmt::format("{}", share))))});
}

std::string softmax_remark(const Deriver& d) {
  std::string remark = "each row sums to 1";
  if (d.step().attributes.causal) remark += "; a token sees itself and those before";
  if (d.has(Operand::Mask)) remark += "; padding is not seen";
  return remark;
}

void say_scores(Deriver& d, const Head& head) {
  d.line(head.s, slanted_quotient(product({head.q, transposed(head.k)}), head.root),
         "head i of one sequence: " + sizes_of(head.tokens, head.features, head.keys));
}

void attend(Deriver& d) {
  const Head head = head_of(d);
  const bool cached = d.step().op == Op::CachedAttention;
  say_inputs(d, head, !cached);
  say_scores(d, head);
  d.line(head.p, function("softmax", {head.s}),
         cached ? "each row sums to 1; a new token sees the cache up to itself" : softmax_remark(d));
  const Math p = dropped(d, head, head.p);
  d.line(head.c, product({p, head.v}), sizes_of(head.tokens, head.keys, head.features));
  const Math context = d.whole(d.out(Operand::Context));
  d.line(context, d.in_parts(context), heads_remark(d, context.tensor));
}

void attend_back(Deriver& d) {
  const Head head = head_of(d);
  const Math ds = gradient_of(head.s), dp = gradient_of(head.p), dc = gradient_of(head.c);
  const Math dq = gradient_of(head.q), dk = gradient_of(head.k), dv = gradient_of(head.v);
  say_inputs(d, head, true);
  const bool keeps_p = d.tensor(d.in(Operand::Saved)).role == Role::Probabilities;
  say_scores(d, head);
  d.line(head.p, function("softmax", {head.s}),
         keeps_p ? "kept from the forward pass" : "computed again, with each row's kept largest and 1/Σ");
  const bool drops = d.step().attributes.dropout > 0;
  const Math used = Deriver::named("Pi'", head.p.rows, head.p.cols);
  if (drops) d.line(used, dropped(d, head, head.p), "the mask of the forward pass again");
  const Math& p = drops ? used : head.p;
  const auto over_queries = [&](Math each) {
    return head.grouped ? sum_over_list("heads of j", std::move(each)) : std::move(each);
  };
  const std::string shared = head.grouped ? "; the query heads of j add up" : "";
  d.line(dv, over_queries(product({transposed(p), dc})), "because C = P · V" + shared);
  Math dp_right = product({dc, transposed(head.v)});
  d.line(dp, dropped(d, head, dp_right),
         "because C = P · V; " + sizes_of(head.tokens, head.features, head.keys));
  d.line(ds, entrywise({head.p, difference(dp, sum_over_columns("keys", entrywise({dp, head.p})))}),
         "softmax: each row's elements share one sum");
  d.line(dq, slanted_quotient(product({ds, head.k}), head.root), "because S = Q · Kᵀ / √d");
  d.line(dk, over_queries(slanted_quotient(product({transposed(ds), head.q}), head.root)),
         "because S = Q · Kᵀ / √d" + shared);
  const Math q_gradient = d.whole(d.out(Operand::QGrad));
  d.line(q_gradient, d.in_parts(q_gradient), heads_remark(d, q_gradient.tensor));
  if (!head.grouped) return;
  const Math kv_gradient = d.whole(d.out(Operand::KvGrad));
  d.line(kv_gradient, d.in_parts(kv_gradient),
         d.is_terms(kv_gradient) ? "ranks that share a key head have a term of its gradient each"
                                 : heads_remark(d, kv_gradient.tensor));
}

}  // namespace

void derive_attention(Deriver& d) {
  d.step().op == Op::AttentionGrad ? attend_back(d) : attend(d);
}

}  // namespace shardlens::formulas
