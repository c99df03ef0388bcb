// Plans the whole model as a Program: from tokens to loss to updated parameters (paper, sections 3 and 4), or
// from tokens to the logits of the next tokens. It uses the same modules as a single layer. Every collective
// again follows from the layouts.
#include <fmt/format.h>

#include "engine/config/forms.h"
#include "engine/planner/fusion.h"
#include "engine/planner/gradient_sums.h"
#include "engine/planner/modules.h"
#include "engine/planner/planner.h"

namespace shardlens {
namespace {

// The inputs of one part of the batch: [tokens] each.
struct Inputs {
  TensorId tokens, positions, labels, token_weights;
  TensorId token_types = kNoTensor, attention_mask = kNoTensor;        // BERT
  TensorId sentence_labels = kNoTensor, sentence_weights = kNoTensor;  // BERT, [micro batch]
};

Inputs add_inputs(Builder& b) {
  const Shape per_token{b.settings().tokens()};
  Inputs in{};
  in.tokens = b.input(Role::Tokens, "tokens", "tok", per_token, DType::Int32);
  in.positions = b.input(Role::Positions, "positions", "pos", per_token, DType::Int32);
  if (b.settings().model.objective == Objective::MaskedWords) {
    in.token_types = b.input(Role::TokenTypes, "token_types", "typ", per_token, DType::Int32);
    in.attention_mask = b.input(Role::AttentionMask, "attention_mask", "mask", per_token, DType::Int32);
  }
  in.labels = b.input(Role::Labels, "labels", "lab", per_token, DType::Int32);
  in.token_weights = b.input(Role::TokenWeights, "token_weights", "w", per_token, b.wide());
  if (b.settings().model.objective == Objective::MaskedWords) {
    const Shape per_sequence{b.settings().micro_batch()};
    in.sentence_labels = b.input(Role::SentenceLabels, "sentence_labels", "lab", per_sequence, DType::Int32);
    in.sentence_weights = b.input(Role::SentenceWeights, "sentence_weights", "w", per_sequence, b.wide());
  }
  return in;
}

// The layout of a table [vocab, hidden].
Layout table_layout(const Settings& settings) {
  switch (settings.split.embedding) {
    case EmbeddingCut::Vocab:
      return sharded(0);
    case EmbeddingCut::Hidden:
      return sharded(1);
    case EmbeddingCut::Replicated:
      break;
  }
  return kReplicated;
}

// The layout of the small tables, positions and token types: whole, or cut over hidden if the stream is.
Layout small_table_layout(const Settings& settings) {
  return stream_layout(settings) == sharded(1) ? sharded(1) : kReplicated;
}

TensorId layers(Builder& b, TensorId x, const Visibility& visible) {
  for (int64_t layer = 0; layer < b.settings().model.layers; ++layer) {
    const auto forward = [&b, visible, layer](TensorId in) {
      b.set_layer(layer);
      const TensorId out = transformer_layer(b, in, visible);
      b.set_layer(-1);
      return out;
    };
    x = b.settings().recompute == Recompute::Full ? b.recomputed(x, forward) : forward(x);
  }
  return x;
}

// wte[tokens] + wpe[positions].
TensorId gpt_embedding(Builder& b, TensorId tokens, TensorId positions) {
  const Settings& settings = b.settings();
  const int64_t rows = padded_vocab(settings.model, vocab_ranks(settings));
  const ModelForm& form = form_of(settings.model);
  const TensorId e = embedding(b, tokens, Role::TokenTable, "wte", form.token_table, "Wte", "E", rows,
                               table_layout(settings));
  const TensorId p = embedding(b, positions, Role::PositionTable, "wpe", form.position_table, "Wpe", "Epos",
                               settings.model.positions, small_table_layout(settings));
  return dropout(b, residual(b, e, p, "embedding", "X"), "embedding.dropped", "X'");
}

// A last LayerNorm, and logits against wte.
TensorId gpt_logits(Builder& b, TensorId x) {
  const Settings& settings = b.settings();
  const ModelForm& form = form_of(settings.model);
  x = layer_norm(b, x, "ln_f", form.last_norm, "Xf");
  b.rename(x, b.scoped("hidden"));
  b.set_role(x, Role::Hidden);
  b.keep(x);
  const char* const head = settings.model.tied ? form.token_table : form.head;
  return vocab_logits(b, x, head, settings.model.tied ? "Wte" : "Whead", table_layout(settings), "");
}

TensorId gpt_loss(Builder& b, const Inputs& in, TensorId loss_scale, bool gradients) {
  const TensorId x = layers(b, gpt_embedding(b, in.tokens, in.positions), {});
  const TensorId logits = gpt_logits(b, x);
  if (!gradients) b.keep(logits);
  return cross_entropy(b, Role::Loss, logits, in.labels, in.token_weights, b.settings().model.vocab, "loss",
                       loss_scale);
}

// Word, position and token-type embeddings, the layers, then the masked-word head and the sentence head.
TensorId bert_loss(Builder& b, const Inputs& in, TensorId loss_scale, bool gradients) {
  const Settings& settings = b.settings();
  const Model& model = settings.model;
  const bool post = model.norm == NormPlacement::Post;
  const ModelForm& form = form_of(model);
  const int64_t rows = padded_vocab(model, vocab_ranks(settings));
  const TensorId e = embedding(b, in.tokens, Role::TokenTable, "words", form.token_table, "Wword", "E", rows,
                               table_layout(settings), model.pad_token);
  const TensorId p = embedding(b, in.positions, Role::PositionTable, "positions", form.position_table, "Wpos",
                               "Epos", model.positions, small_table_layout(settings));
  const TensorId t =
      embedding(b, in.token_types, Role::TypeTable, "types", "bert.embeddings.token_type_embeddings.weight",
                "Wtyp", "Etyp", 2, small_table_layout(settings));
  TensorId x = residual(b, residual(b, e, p, "embedding.words", "E'"), t, "embedding", "X");
  if (post) x = layer_norm(b, x, "embedding.norm", "bert.embeddings.LayerNorm", "X");
  x = layers(b, dropout(b, x, "embedding.dropped", "X'"), {.mask = in.attention_mask});
  if (!post) x = layer_norm(b, x, "ln_f", form.last_norm, "Xf");
  b.rename(x, b.scoped("hidden"));
  b.set_role(x, Role::Hidden);
  b.keep(x);

  b.set_part(Part::Loss);
  const auto dense = [&](TensorId in_tensor, const std::string& module, const std::string& name,
                         const std::string& symbol, int64_t out, Role role, Role bias_role) {
    const LinearNames names{module,       name + ".weight", name + ".bias", "W" + symbol,
                            symbol + "'", symbol,           role,           bias_role};
    return linear(b, in_tensor, names, {{model.hidden}, {out}, 0, 0}, Cut::Replicated);
  };
  TensorId h = dense(x, "transform", "cls.predictions.transform.dense", "T", model.hidden,
                     Role::HeadTransform, Role::HeadTransformBias);
  h = gelu(b, h, "transform.gelu", "G");
  h = layer_norm(b, h, "transform.norm", "cls.predictions.transform.LayerNorm", "N");
  const char* const head = model.tied ? form.token_table : form.head;
  const TensorId logits = vocab_logits(b, h, head, model.tied ? "Wword" : "Whead", table_layout(settings),
                                       "cls.predictions.bias");
  if (!gradients) b.keep(logits);
  const TensorId words_loss = cross_entropy(b, Role::WordLoss, logits, in.labels, in.token_weights,
                                            model.vocab, "loss.words", loss_scale);

  const TensorId first = first_token(b, x, "pooler.first", "F");
  const TensorId pooled =
      tanh(b, dense(first, "pooler", "bert.pooler.dense", "Q", model.hidden, Role::Pooler, Role::PoolerBias),
           "pooler.tanh", "P");
  const TensorId order =
      dense(pooled, "sentence", "cls.seq_relationship", "O", 2, Role::SentenceHead, Role::SentenceHeadBias);
  b.set_role(order, Role::SentenceLogits);
  if (!gradients) b.keep(order);
  const TensorId order_loss = cross_entropy(b, Role::SentenceLoss, order, in.sentence_labels,
                                            in.sentence_weights, 2, "loss.sentences", loss_scale);
  b.keep(words_loss);
  b.keep(order_loss);
  const TensorId loss = b.activation(part_value(b, "loss"), "L", {1}, kReplicated, b.wide());
  b.set_role(loss, Role::Loss);
  b.step(Op::Add, "loss", "L = L words + L sentences", {words_loss, order_loss}, {loss});
  return loss;
}

}  // namespace

Program plan_model(const Settings& settings, bool gradients) {
  Builder b(settings);
  TensorId loss_scale = kNoTensor;
  if (settings.dtype == DType::Fp16) loss_scale = b.input(Role::LossScale, "loss_scale", "S", {1}, b.wide());
  TensorId total = kNoTensor;
  for (int part = 0; part < settings.micro_batches; ++part) {
    b.set_micro_batch(part);
    const Inputs in = add_inputs(b);
    const bool gpt = settings.model.objective == Objective::NextToken;
    const TensorId loss =
        gpt ? gpt_loss(b, in, loss_scale, gradients) : bert_loss(b, in, loss_scale, gradients);
    if (gradients) b.play_backward();
    if (part == 0) {
      total = loss;
      continue;
    }
    b.set_part(Part::Loss);
    const TensorId sum = b.activation(replica_value(b, "loss.sum"), "L", {1}, kReplicated, b.wide());
    b.set_role(sum, Role::Loss);
    b.step(Op::Add, "loss sum", "L = L + L of the parts before", {loss, total}, {sum});
    total = sum;
  }
  b.set_micro_batch(0);
  if (b.tensor(total).name != "loss") b.rename(total, "loss");
  b.keep(total);
  if (gradients) reduce_over_ranks(b);
  reduce_over_replicas(b, total, gradients);
  if (settings.update) update(b, loss_scale);
  return fused(b.take());
}

Program plan_generation(Settings settings) {
  settings.update = false;
  settings.dropout = 0;
  settings.recompute = Recompute::None;
  Builder b(settings);
  const Shape per_token{settings.tokens()};
  const TensorId tokens = b.input(Role::Tokens, "tokens", "tok", per_token, DType::Int32);
  const TensorId positions = b.input(Role::Positions, "positions", "pos", per_token, DType::Int32);
  TensorId x = layers(b, gpt_embedding(b, tokens, positions), {.positions = positions});
  if (settings.seq > 1) {  // only the last token's logits are needed: looks up its row of X
    const TensorId last = b.input(Role::LastRows, "last", "last", {settings.micro_batch()}, DType::Int32);
    b.set_part(Part::Loss);
    // If the stream is cut over the tokens, a rank has its own rows, and zeros for the others.
    const Layout layout = b.tensor(x).layout == sharded(0) ? kPartial : b.tensor(x).layout;
    const TensorId rows =
        b.activation("last.out", "Xlast", {settings.micro_batch(), settings.model.hidden}, layout);
    x = b.step(Op::Embedding, "last", fmt::format("Xlast = {}[last]", b.tensor(x).symbol), {last, x}, {rows});
  }
  b.keep(gpt_logits(b, x));
  return fused(b.take());
}

}  // namespace shardlens
