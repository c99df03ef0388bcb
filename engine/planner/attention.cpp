// The self-attention block (paper, section 3, Figure 3b): heads are independent, so a cut between heads makes
// the whole of softmax(Q·Kᵀ/√d)·V local to a rank, and a cache of keys and values is cut with them.
#include <fmt/format.h>

#include "engine/device/device.h"
#include "engine/planner/modules.h"

namespace shardlens {

namespace {

// The new tokens' keys and values join those of the tokens before them, which stay where their heads are, and
// the new tokens attend to all of them.
TensorId cached_attention(Builder& b, TensorId qkv, TensorId positions, Layout heads) {
  const Settings& settings = b.settings();
  const Model& model = settings.model;
  const int64_t room = settings.cache_tokens;
  Attributes attributes;
  attributes.causal = true;
  attributes.batch = settings.micro_batch();
  const Shape kept_shape{settings.micro_batch() * room, model.heads, model.head_dim()};
  const TensorId k = b.cache("attn.keys", "K", kept_shape, heads);
  const TensorId v = b.cache("attn.values", "V", kept_shape, heads);
  const TensorId all_k = b.in_place(k, b.scoped("attn.keys.appended"));
  const TensorId all_v = b.in_place(v, b.scoped("attn.values.appended"));
  b.step(Op::CacheAppend, "attn.cache", "K[pos], V[pos] = K, V of QKV", {qkv, positions, k, v},
         {all_k, all_v}, attributes);
  const TensorId c =
      b.activation("attn.context", "C", {settings.tokens(), model.heads, model.head_dim()}, heads);
  const TensorId p = b.activation("attn.probs", "P", {settings.tokens(), model.heads, room}, heads);
  std::vector<TensorId> outputs{c, p};
  if (settings.dtype != b.wide())
    outputs.push_back(b.workspace("attn.core.workspace",
                                  {attention_workspace_elements(settings.dtype, room, model.head_dim())}));
  b.step(Op::CachedAttention, "attn.core", "C = P · V,  P = softmax(Q · Kᵀ / √d)",
         {qkv, positions, all_k, all_v}, outputs, attributes);
  return c;
}

}  // namespace

TensorId attention_core(Builder& b, TensorId qkv, const Visibility& visible) {
  const Settings& settings = b.settings();
  const Model& model = settings.model;
  if (b.tensor(qkv).layout == sharded(0)) qkv = b.convert(qkv, sharded(2));
  const Layout heads = b.tensor(qkv).layout.kind == LayoutKind::Sharded ? sharded(1) : kReplicated;
  if (settings.cache_tokens > 0) return cached_attention(b, qkv, visible.positions, heads);
  const TensorId mask = visible.mask;
  const Shape context_shape{settings.tokens(), model.heads, model.head_dim()};
  Attributes attributes;
  attributes.causal = model.causal;
  attributes.batch = settings.micro_batch();
  attributes.dropout = settings.dropout;
  if (settings.dropout > 0) {
    attributes.stream = b.in_layer("attn.dropout");
    attributes.part = b.micro_batch();
  }
  const TensorId c = b.activation("attn.context", "C", context_shape, heads);
  const bool recompute = settings.recompute == Recompute::Selective;
  const TensorId p =
      recompute ? b.activation("attn.stats", "max, 1/Σ", {settings.tokens(), model.heads, 2}, heads, b.wide())
                : b.activation("attn.probs", "P", {settings.tokens(), model.heads, settings.seq}, heads);
  std::vector<TensorId> inputs{qkv}, outputs{c, p};
  if (mask != kNoTensor) inputs.push_back(mask);
  if (recompute || settings.dropout > 0 || settings.dtype != b.wide())
    outputs.push_back(
        b.workspace("attn.core.workspace",
                    {attention_workspace_elements(settings.dtype, settings.seq, model.head_dim())}));
  b.step(Op::Attention, "attn.core", "C = P · V,  P = softmax(Q · Kᵀ / √d)", inputs, outputs, attributes);
  b.on_backward([&b, qkv, c, p, mask, attributes] {
    const TensorId dc = b.gradient(c);
    const TensorId dqkv = b.gradient_tensor(qkv, b.tensor(qkv).layout);
    const int64_t work =
        attention_workspace_elements(b.settings().dtype, b.settings().seq, b.settings().model.head_dim());
    const TensorId scratch = b.workspace("attn.workspace", {work});
    std::vector<TensorId> reads{qkv, p, c, dc};
    if (mask != kNoTensor) reads.push_back(mask);
    b.step(Op::AttentionGrad, "attn.core dQKV", "dQ, dK, dV of C = P · V", reads, {dqkv, scratch},
           attributes);
    b.add_gradient(qkv, dqkv);
  });
  return c;
}

TensorId attention(Builder& b, TensorId x, const std::string& out_symbol, const Visibility& visible) {
  const Model& model = b.settings().model;
  const Split& split = b.settings().split;
  b.set_block("attention");
  const LinearNames qkv_names{
      "attn.qkv", parameter_name(b, "attn.qkv.weight"), parameter_name(b, "attn.qkv.bias"), "Wqkv", "QKV'",
      "QKV"};
  const LinearNames proj_names{
      "attn.proj", parameter_name(b, "attn.proj.weight"), parameter_name(b, "attn.proj.bias"), "Wo", "O",
      out_symbol};
  const Shape heads_shape{model.heads, model.head_dim()};
  // A row cut's sum is scattered over heads: half the bytes of an all-reduce, and attention runs on 1/T of
  // the heads.
  const TensorId qkv = linear(b, x, qkv_names, {{model.hidden}, {3, model.heads, model.head_dim()}, 0, 1},
                              split.attn_qkv, sharded(2));
  const TensorId c = attention_core(b, qkv, visible);
  const Layout stream = stream_layout(b.settings());
  const TensorId y = linear(b, c, proj_names, {heads_shape, {model.hidden}, 0, 0}, split.attn_proj, stream);
  return b.convert(y, stream);
}

}  // namespace shardlens
