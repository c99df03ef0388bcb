// Plans the two ends of a whole model: the lookup of rows by id, and the logits, a product with the same
// rows. If the table is cut over the vocabulary, a lookup leaves zeros for rows that another rank holds: its
// output is Partial, and g appears. The logits are Sharded, the gradient of their input is Partial, and f
// appears (paper, section 3). If the table is cut over hidden, the lookup is local, and the logits are a sum.
#include <fmt/format.h>

#include "engine/planner/modules.h"

namespace shardlens {

int vocab_ranks(const Settings& settings) {
  return settings.vocab_ranks > 0 ? settings.vocab_ranks : settings.tp;
}

namespace {

void bias_gradient(Builder& b, TensorId bias, TensorId logits) {
  std::vector<TensorId> reads{b.gradient(logits)};
  Attributes attributes;
  const TensorId db = b.weight_gradient(bias, reads, attributes, b.tensor(reads[0]).layout);
  b.step(Op::BiasGrad, "logits db", "db = Σ tokens dZ", reads, {db}, attributes);
}

// For logits that are a sum over the ranks: adds the bias once, after the reduction.
TensorId with_bias(Builder& b, TensorId sum, const std::string& name) {
  const Layout layout = b.tensor(sum).layout;
  const Shape shape = b.tensor(sum).shape;  // a copy: tensors move when one is added
  const TensorId bias =
      b.weight(Role::HeadBias, name, "b", {shape[1]}, 0, layout == sharded(1) ? sharded(0) : kReplicated);
  const TensorId logits = b.activation("logits", "Z", shape, layout);
  b.set_role(logits, Role::Logits);
  b.step(Op::BiasAdd, "logits bias", "Z = Z + b", {sum, bias}, {logits});
  b.on_backward([&b, sum, bias, logits] {
    bias_gradient(b, bias, logits);
    b.add_gradient(sum, b.gradient(logits));
  });
  return logits;
}

}  // namespace

TensorId embedding(Builder& b, TensorId ids, Role role, const std::string& module,
                   const std::string& parameter, const std::string& weight_symbol,
                   const std::string& out_symbol, int64_t rows, Layout layout, int64_t no_gradient_id) {
  b.set_part(Part::Embedding);
  const int64_t hidden = b.settings().model.hidden;
  const Layout stream = stream_layout(b.settings());
  const TensorId table = b.weight(role, parameter, weight_symbol, {rows, hidden}, 1, layout);
  const Layout table_layout = b.tensor(table).layout;
  // If the rank holds the whole table, it can look up just the tokens that it keeps.
  if (table_layout == kReplicated && stream == sharded(0)) ids = b.convert(ids, stream);
  const bool is_vocab_cut = table_layout == sharded(0);
  const Layout out = is_vocab_cut ? kPartial : table_layout == sharded(1) ? sharded(1) : b.tensor(ids).layout;
  const TensorId e = b.activation(module + ".out", out_symbol, {b.tensor(ids).shape[0], hidden}, out);
  b.step(Op::Embedding, module, fmt::format("{} = {}[{}]", out_symbol, weight_symbol, b.tensor(ids).symbol),
         {ids, table}, {e});
  b.on_backward([&b, ids, table, e, module, no_gradient_id] {
    b.emit_postponed(table);
    const TensorId de = b.gradient(e);
    std::vector<TensorId> inputs{ids, de};
    Attributes attributes;
    attributes.no_gradient_id = no_gradient_id;
    const TensorId dtable = b.weight_gradient(table, inputs, attributes, b.tensor(ids).layout);
    b.step(Op::EmbeddingGrad, module + " dW",
           fmt::format("{}[{}] += {}", b.tensor(dtable).symbol, b.tensor(ids).symbol, b.tensor(de).symbol),
           inputs, {dtable}, attributes);
  });
  return b.convert(e, stream, is_vocab_cut && stream == kReplicated ? Conjugate::G : Conjugate::None);
}

TensorId vocab_logits(Builder& b, TensorId x, const std::string& parameter, const std::string& symbol,
                      Layout layout, const std::string& bias_name) {
  b.set_part(Part::Loss);
  const Settings& settings = b.settings();
  const int64_t rows = padded_vocab(settings.model, vocab_ranks(settings));
  const TensorId table = b.weight(Role::Head, parameter, symbol, {rows, b.tensor(x).shape[1]}, 1, layout);
  const Layout table_layout = b.tensor(table).layout;
  const bool is_vocab_cut = table_layout == sharded(0),
             is_hidden_cut = settings.split.embedding == EmbeddingCut::Hidden;
  const Cut cut = is_hidden_cut ? Cut::Row : is_vocab_cut ? Cut::Column : Cut::Replicated;
  const bool was_replicated = b.tensor(x).layout == kReplicated;
  const Layout x_layout = was_replicated && !is_hidden_cut ? kReplicated : linear_input(settings, cut);
  x = b.convert(x, x_layout, is_vocab_cut && was_replicated ? Conjugate::F : Conjugate::None);
  const Layout product_layout = is_hidden_cut ? kPartial : is_vocab_cut ? sharded(1) : x_layout;
  const bool adds_bias_later = is_hidden_cut && !bias_name.empty();
  const TensorId product = b.activation(adds_bias_later ? "logits.sum" : "logits", "Z",
                                        {b.tensor(x).shape[0], rows}, product_layout);
  if (!adds_bias_later) b.set_role(product, Role::Logits);
  std::vector<TensorId> inputs{x, table};
  TensorId bias = kNoTensor;
  if (!bias_name.empty() && !adds_bias_later) {
    bias = b.weight(Role::HeadBias, bias_name, "b", {rows}, 0, is_vocab_cut ? sharded(0) : kReplicated);
    inputs.push_back(bias);
  }
  Attributes attributes;
  attributes.transposed = true;
  b.step(Op::Linear, "logits",
         fmt::format("Z = {} · {}ᵀ{}", b.tensor(x).symbol, symbol, bias == kNoTensor ? "" : " + b"), inputs,
         {product}, attributes);
  b.on_backward([&b, x, table, bias, product, symbol, x_layout, is_vocab_cut, attributes] {
    const TensorId dlogits = b.gradient(product);
    const TensorId dx = b.gradient_tensor(x, is_vocab_cut ? kPartial : x_layout);
    b.step(Op::LinearGradInput, "logits dX", fmt::format("{} = dZ · {}", b.tensor(dx).symbol, symbol),
           {dlogits, table}, {dx}, attributes);
    b.add_gradient(x, dx);
    const auto weight_gradient = [&b, x, table, dlogits, symbol, x_layout, attributes] {
      std::vector<TensorId> reads{b.whole_again(x), dlogits};
      Attributes weight_attributes = attributes;
      const TensorId dtable = b.weight_gradient(table, reads, weight_attributes, x_layout);
      b.step(Op::LinearGradWeight, "logits dW",
             fmt::format("{} = dZᵀ · {}", b.tensor(dtable).symbol, b.tensor(x).symbol), reads, {dtable},
             weight_attributes);
    };
    // For a tied matrix, this gradient is not needed before the lookup's gradient. Until then other tensors
    // can use its bytes, and the gradient of the logits can stay in the bytes of the logits. If layers are
    // recomputed, few tensors need those bytes.
    const bool later = b.settings().model.tied && b.settings().recompute != Recompute::Full;
    later ? b.postpone(table, weight_gradient) : weight_gradient();
    if (bias != kNoTensor) bias_gradient(b, bias, product);
  });
  if (!is_hidden_cut) return product;
  // The sum is converted to what the loss reads: the rank's own columns of the vocabulary, or all columns.
  const Layout to = settings.split.loss == LossForm::Fused ? sharded(1) : kReplicated;
  const TensorId logits = b.convert(product, to, to == kReplicated ? Conjugate::G : Conjugate::None);
  return adds_bias_later ? with_bias(b, logits, bias_name) : logits;
}

}  // namespace shardlens
