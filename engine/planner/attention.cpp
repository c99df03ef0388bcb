// Plans the self-attention block (paper, section 3, Figure 3b). Heads are independent. So a cut between heads
// makes all of softmax(Q·Kᵀ/√d)·V local to a rank. A cache of keys and values is cut with the heads.
#include <fmt/format.h>

#include "engine/config/heads.h"
#include "engine/device/attention_scratch.h"
#include "engine/planner/modules.h"

namespace shardlens {

namespace {

// The layout of a tensor [tokens, heads, …] when QKV, Q or KV has the layout `of`, cut between its own heads.
Layout heads_layout(Layout of) {
  return of.kind == LayoutKind::Sharded ? sliced_along(of, 1) : kReplicated;
}

// The shape [tokens, heads, last], with the heads in the same dimensions as in Q.
Shape per_head(const Model& model, const Tensor& q, int64_t last) {
  return model.is_grouped() ? Shape{q.shape[0], q.shape[1], q.shape[2], last}
                            : Shape{q.shape[0], model.heads, last};
}

std::vector<TensorId> read_by(const AttentionInput& in) {
  return in.kv == kNoTensor ? std::vector{in.q} : std::vector{in.q, in.kv};
}

// Adds scratch for a step over `keys` keys to the step's outputs, if its backend needs any.
void add_scratch(Builder& b, const std::string& name, int64_t keys, std::vector<TensorId>& outputs) {
  const Settings& settings = b.settings();
  const int64_t elements =
      attention_scratch_elements(settings.backend, settings.dtype, keys, settings.model.head_dim());
  if (elements > 0) outputs.push_back(b.workspace(name, {elements}));
}

// Appends the new tokens' keys and values to the cache. The cached keys and values stay on the ranks that
// hold their heads. The new tokens attend to all cached tokens.
TensorId cached_attention(Builder& b, const AttentionInput& in, TensorId positions, Layout heads) {
  const Settings& settings = b.settings();
  const Model& model = settings.model;
  const int64_t room = settings.cache_tokens;
  Attributes attributes;
  attributes.causal = true;
  attributes.batch = settings.micro_batch();
  const Shape kept_shape{settings.micro_batch() * room, model.key_heads(), model.head_dim()};
  const TensorId fresh = in.kv == kNoTensor ? in.q : in.kv;
  const Layout keys = heads_layout(b.tensor(fresh).layout);
  const TensorId k = b.cache("attn.keys", "K", kept_shape, keys);
  const TensorId v = b.cache("attn.values", "V", kept_shape, keys);
  const TensorId all_k = b.in_place(k, b.scoped("attn.keys.appended"));
  const TensorId all_v = b.in_place(v, b.scoped("attn.values.appended"));
  b.step(Op::CacheAppend, "attn.cache", fmt::format("K[pos], V[pos] = K, V of {}", b.tensor(fresh).symbol),
         {fresh, positions, k, v}, {all_k, all_v}, attributes);
  const Shape context_shape = per_head(model, b.tensor(in.q), model.head_dim());
  const Shape probs_shape = per_head(model, b.tensor(in.q), room);
  const TensorId c = b.activation("attn.context", "C", context_shape, heads);
  b.set_role(c, Role::Context);
  const TensorId p = b.activation("attn.probs", "P", probs_shape, heads);
  b.set_role(p, Role::Probabilities);
  std::vector<TensorId> outputs{c, p};
  if (settings.dtype != b.wide()) add_scratch(b, "attn.core.workspace", room, outputs);
  b.step(Op::CachedAttention, "attn.core", "C = P · V,  P = softmax(Q · Kᵀ / √d)",
         {in.q, positions, all_k, all_v}, outputs, attributes);
  return c;
}

// Converts what is cut over the tokens to a cut over the heads. Key heads that are not cut with the query
// heads are gathered instead.
AttentionInput by_heads(Builder& b, AttentionInput in) {
  const int heads_dim = in.kv == kNoTensor ? 2 : 1;
  if (b.tensor(in.q).layout == sharded(0)) in.q = b.convert(in.q, sharded(heads_dim));
  if (in.kv == kNoTensor || b.tensor(in.kv).layout != sharded(0)) return in;
  const bool sliced = heads_cut(b.settings()).keys == KeyCut::Sliced;
  in.kv = b.convert(in.kv, sliced ? sharded(2) : kReplicated);
  return in;
}

// If a rank shares key heads with other ranks, its query heads give only a part of their gradient: it is
// Partial.
Layout key_gradient_layout(Layout q, Layout kv) {
  return q.kind == LayoutKind::Sharded && kv == kReplicated ? kPartial : gradient_layout(kv);
}

}  // namespace

TensorId attention_core(Builder& b, AttentionInput in, const Visibility& visible) {
  const Settings& settings = b.settings();
  const Model& model = settings.model;
  in = by_heads(b, in);
  const Layout heads = heads_layout(b.tensor(in.q).layout);
  if (settings.cache_tokens > 0) return cached_attention(b, in, visible.positions, heads);
  const TensorId mask = visible.mask;
  const Shape context_shape = per_head(model, b.tensor(in.q), model.head_dim());
  Attributes attributes;
  attributes.causal = model.causal;
  attributes.batch = settings.micro_batch();
  attributes.dropout = settings.dropout;
  if (settings.dropout > 0) {
    attributes.stream = b.in_layer("attn.dropout");
    attributes.part = b.micro_batch();
  }
  const bool recompute = settings.recompute == Recompute::Selective;
  const Shape saved_shape = per_head(model, b.tensor(in.q), recompute ? 2 : settings.seq);
  const TensorId c = b.activation("attn.context", "C", context_shape, heads);
  b.set_role(c, Role::Context);
  const TensorId p = recompute ? b.activation("attn.stats", "max, 1/Σ", saved_shape, heads, b.wide())
                               : b.activation("attn.probs", "P", saved_shape, heads);
  if (!recompute) b.set_role(p, Role::Probabilities);
  std::vector<TensorId> inputs = read_by(in), outputs{c, p};
  if (mask != kNoTensor) inputs.push_back(mask);
  if (recompute || settings.dropout > 0 || settings.dtype != b.wide())
    add_scratch(b, "attn.core.workspace", settings.seq, outputs);
  b.step(Op::Attention, "attn.core", "C = P · V,  P = softmax(Q · Kᵀ / √d)", inputs, outputs, attributes);
  b.on_backward([&b, in, c, p, mask, attributes] {
    const TensorId dc = b.gradient(c);
    const Layout q_layout = b.tensor(in.q).layout;
    std::vector<TensorId> reads = read_by(in), writes{b.gradient_tensor(in.q, q_layout)};
    if (in.kv != kNoTensor)
      writes.push_back(b.gradient_tensor(in.kv, key_gradient_layout(q_layout, b.tensor(in.kv).layout)));
    const std::vector<TensorId> gradients = writes;
    add_scratch(b, "attn.workspace", b.settings().seq, writes);
    reads.insert(reads.end(), {p, c, dc});
    if (mask != kNoTensor) reads.push_back(mask);
    b.step(Op::AttentionGrad, in.kv == kNoTensor ? "attn.core dQKV" : "attn.core dQ, dKV",
           "dQ, dK, dV of C = P · V", reads, writes, attributes);
    b.add_gradient(in.q, gradients[0]);
    if (in.kv != kNoTensor) b.add_gradient(in.kv, gradients[1]);
  });
  return c;
}

namespace {

LinearNames names_of(const Builder& b, const std::string& module, const std::string& weight_symbol,
                     const std::string& sum_symbol, const std::string& out_symbol, Role role, Role bias_role,
                     Role out_role) {
  return {module,
          parameter_name(b, module + ".weight"),
          parameter_name(b, module + ".bias"),
          weight_symbol,
          sum_symbol,
          out_symbol,
          role,
          bias_role,
          out_role};
}

// Queries, keys and values as one matrix. The sum of a row cut is scattered over heads: that is half the
// bytes of an all-reduce, and attention runs on 1/T of the heads.
AttentionInput fused_projection(Builder& b, TensorId x, const Layout& slices) {
  const Model& model = b.settings().model;
  const LinearShape shape{{model.hidden}, {3, model.heads, model.head_dim()}, 0, 1, slices};
  return {.q = linear(b, x,
                      names_of(b, "attn.qkv", "Wqkv", "QKV'", "QKV", Role::Qkv, Role::QkvBias,
                               Role::QueriesKeysValues),
                      shape, b.settings().split.attn_qkv, sharded(2))};
}

// Grouped queries: the number of query heads stays, and there are fewer keys and values, which can have
// another layout. Both are products of the same X, so there is one f.
AttentionInput grouped_projections(Builder& b, TensorId x, const HeadsCut& heads, const Layout& slices) {
  const Model& model = b.settings().model;
  const Cut cut = b.settings().split.attn_qkv;
  const bool sliced = heads.keys == KeyCut::Sliced;
  const LinearShape q{{model.hidden}, {heads.units, heads.heads_per_unit, model.head_dim()}, 0, 0, slices};
  LinearShape kv{{model.hidden}, {2, model.key_heads(), model.head_dim()}, 0, 1, slices};
  if (cut == Cut::Column) kv.slices.copies = heads.copies;
  const LinearNames q_names =
      names_of(b, "attn.q", "Wq", "Q'", "Q", Role::Query, Role::QueryBias, Role::None);
  const LinearNames kv_names =
      names_of(b, "attn.kv", "Wkv", "KV'", "KV", Role::KeyValue, Role::KeyValueBias, Role::KeysValues);

  x = b.operand(x);
  AttentionInput in;
  b.summed_apart(x, [&] {
    const TensorId operand = linear_operand(b, x, cut, sharded(1));
    // If the key heads cannot be sliced, every rank computes all of them, and their gradient is summed.
    const bool whole = cut == Cut::Column && heads.keys == KeyCut::Whole;
    const Cut kv_cut = whole ? Cut::Replicated : cut;
    const TensorId kv_operand = whole ? linear_operand(b, x, kv_cut, kReplicated) : operand;
    in.q = linear_product(b, operand, q_names, q, cut, sharded(1));
    in.kv = linear_product(b, kv_operand, kv_names, kv, kv_cut, sliced ? sharded(2) : kReplicated);
  });
  return in;
}

}  // namespace

TensorId attention(Builder& b, TensorId x, const std::string& out_symbol, const Visibility& visible) {
  const Model& model = b.settings().model;
  const Split& split = b.settings().split;
  b.set_part(Part::Attention);
  const HeadsCut heads = heads_cut(b.settings());
  Layout slices = sharded(0);
  slices.padded = heads.padded;
  // What is cut between heads is padded with zero heads, before and after attention.
  const Layout qkv_slices = split.attn_qkv == Cut::Column ? slices : sharded(0);
  const AttentionInput in =
      model.is_grouped() ? grouped_projections(b, x, heads, qkv_slices) : fused_projection(b, x, qkv_slices);
  const TensorId c = attention_core(b, in, visible);
  const Layout stream = stream_layout(b.settings());
  const Shape context = b.tensor(c).shape;
  const LinearShape proj{{context.begin() + 1, context.end()},
                         {model.hidden},
                         0,
                         0,
                         split.attn_proj == Cut::Row ? slices : sharded(0)};
  const TensorId y = linear(
      b, c,
      names_of(b, "attn.proj", "Wo", "O", out_symbol, Role::AttentionOut, Role::AttentionOutBias, Role::None),
      proj, split.attn_proj, stream);
  return b.convert(y, stream);
}

}  // namespace shardlens
