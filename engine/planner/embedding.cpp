// The two ends of a whole model: rows looked up by id, and logits against the same rows. Cut over the
// vocabulary, a lookup leaves zeros where another rank owns the row, so its output is Partial and g appears;
// the logits come out Sharded, their input's gradient Partial, and f appears (paper, section 3).
#include <fmt/format.h>

#include "engine/planner/modules.h"

namespace shardlens {

int vocab_ranks(const Settings& settings) {
  return settings.vocab_ranks > 0 ? settings.vocab_ranks : settings.tp;
}

TensorId embedding(Builder& b, TensorId ids, const std::string& module, const std::string& parameter,
                   const std::string& weight_symbol, const std::string& out_symbol, int64_t rows,
                   Layout layout, int64_t no_gradient_id) {
  b.set_block("embedding");
  const int64_t hidden = b.settings().model.hidden;
  const TensorId table = b.weight(parameter, weight_symbol, {rows, hidden}, 1, layout);
  const bool cut = b.tensor(table).layout.kind == LayoutKind::Sharded;
  const TensorId e = b.activation(module + ".out", out_symbol, {b.tensor(ids).shape[0], hidden},
                                  cut ? kPartial : kReplicated);
  b.step(Op::Embedding, module, fmt::format("{} = {}[{}]", out_symbol, weight_symbol, b.tensor(ids).symbol),
         {ids, table}, {e});
  b.on_backward([&b, ids, table, e, module, no_gradient_id] {
    const TensorId de = b.gradient(e);
    std::vector<TensorId> inputs{ids, de};
    Attributes attributes;
    attributes.no_gradient_id = no_gradient_id;
    const TensorId dtable = b.weight_gradient(table, inputs, attributes);
    b.step(Op::EmbeddingGrad, module + " dW",
           fmt::format("{}[{}] += {}", b.tensor(dtable).symbol, b.tensor(ids).symbol, b.tensor(de).symbol),
           inputs, {dtable}, attributes);
  });
  return b.convert(e, kReplicated, cut ? Conjugate::G : Conjugate::None);
}

TensorId vocab_logits(Builder& b, TensorId x, const std::string& parameter, const std::string& symbol,
                      Layout layout, const std::string& bias_name) {
  b.set_block("loss");
  const int64_t rows = padded_vocab(b.settings().model, vocab_ranks(b.settings()));
  const TensorId table = b.weight(parameter, symbol, {rows, b.tensor(x).shape[1]}, 1, layout);
  const bool cut = b.tensor(table).layout.kind == LayoutKind::Sharded;
  x = b.convert(x, kReplicated, cut ? Conjugate::F : Conjugate::None);
  const TensorId logits =
      b.activation("logits", "Z", {b.tensor(x).shape[0], rows}, cut ? sharded(1) : kReplicated);
  std::vector<TensorId> inputs{x, table};
  TensorId bias = kNoTensor;
  if (!bias_name.empty()) {
    bias = b.weight(bias_name, "b", {rows}, 0, cut ? sharded(0) : kReplicated);
    inputs.push_back(bias);
  }
  Attributes attributes;
  attributes.transposed = true;
  b.step(Op::Linear, "logits",
         fmt::format("Z = {} · {}ᵀ{}", b.tensor(x).symbol, symbol, bias == kNoTensor ? "" : " + b"), inputs,
         {logits}, attributes);
  b.on_backward([&b, x, table, bias, logits, symbol, cut, attributes] {
    const TensorId dlogits = b.gradient(logits);
    const TensorId dx = b.gradient_tensor(x, cut ? kPartial : kReplicated);
    b.step(Op::LinearGradInput, "logits dX", fmt::format("{} = dZ · {}", b.tensor(dx).symbol, symbol),
           {dlogits, table}, {dx}, attributes);
    b.add_gradient(x, dx);
    std::vector<TensorId> reads{x, dlogits};
    Attributes weight_attributes = attributes;
    const TensorId dtable = b.weight_gradient(table, reads, weight_attributes);
    b.step(Op::LinearGradWeight, "logits dW",
           fmt::format("{} = dZᵀ · {}", b.tensor(dtable).symbol, b.tensor(x).symbol), reads, {dtable},
           weight_attributes);
    if (bias == kNoTensor) return;
    std::vector<TensorId> bias_reads{dlogits};
    Attributes bias_attributes;
    const TensorId db = b.weight_gradient(bias, bias_reads, bias_attributes);
    b.step(Op::BiasGrad, "logits db", "db = Σ tokens dZ", bias_reads, {db}, bias_attributes);
  });
  return logits;
}

}  // namespace shardlens
