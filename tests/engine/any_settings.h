// Small whole models drawn at random, with any split, T and D that the planner takes.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <random>

#include "engine/config/heads.h"
#include "engine/config/settings.h"

namespace shardlens::testing {

class Draw {
 public:
  explicit Draw(unsigned number) : engine_(number) {}

  int from(int lowest, int highest) { return std::uniform_int_distribution(lowest, highest)(engine_); }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[from(0, static_cast<int>(values.size()) - 1)];
  }

 private:
  std::mt19937 engine_;
};

inline Settings any_settings(unsigned number) {
  Draw draw(number);
  Settings settings;
  settings.block = Block::Model;
  settings.dtype = DType::Fp64;
  settings.threads_per_rank = 1;
  settings.seed = number;
  Model& model = settings.model;
  model.name = model.title = "any";
  model.layers = draw.from(1, 2);
  model.heads = draw.from(1, 6);
  model.hidden = model.heads * draw.from(4, 8);
  model.ffn = draw.from(5, 40);
  model.vocab = draw.from(3, 300);
  model.positions = draw.from(2, 12);
  model.objective = draw.one_of({Objective::NextToken, Objective::MaskedWords});
  model.form = model.objective == Objective::NextToken ? "gpt2" : "bert";
  model.causal = model.objective == Objective::NextToken;
  model.norm = model.causal ? NormPlacement::Pre : draw.one_of({NormPlacement::Pre, NormPlacement::Post});
  model.activation = draw.one_of({Activation::GeluTanh, Activation::GeluErf});
  model.tied = draw.from(0, 3) > 0;
  Split& split = settings.split;
  split.name = "any";
  for (Cut* cut : {&split.attn_qkv, &split.attn_proj, &split.mlp_fc, &split.mlp_proj})
    *cut = draw.one_of({Cut::Column, Cut::Row, Cut::Replicated});
  split.embedding = draw.one_of({EmbeddingCut::Vocab, EmbeddingCut::Hidden, EmbeddingCut::Replicated});
  split.norm = draw.one_of({NormCut::Replicated, NormCut::Parallel, NormCut::Sequence});
  split.loss = draw.one_of({LossForm::Fused, LossForm::Gather});
  settings.tp = std::min(draw.from(1, 5), static_cast<int>(model.hidden));
  settings.dp = draw.one_of({1, 1, 2, 3, 4});
  settings.micro_batches = draw.from(1, 3);
  settings.batch = settings.dp * settings.micro_batches * draw.from(1, 2);
  settings.seq = draw.from(1, static_cast<int>(model.positions));
  settings.recompute = draw.one_of({Recompute::None, Recompute::Selective, Recompute::Full});
  settings.dropout = draw.one_of({0.0, 0.25});
  settings.update = draw.from(0, 1) == 1;
  settings.overlap_chunks = draw.one_of({1, 1, 3});
  const int64_t key_heads = draw.from(1, static_cast<int>(model.heads));
  // Of a single token attention is the identity on V: Q has no gradient but rounding, which has no relative
  // error; beside K and V in one matrix it is lost.
  const bool groups = model.heads % key_heads == 0 && settings.seq > 1 && draw.from(0, 1) == 1;
  if (groups) model.kv_heads = key_heads;
  const bool pads =
      split.attn_qkv == Cut::Column && split.attn_proj == Cut::Row && can_pad_heads(model, settings.tp);
  settings.heads_policy = pads ? HeadsPolicy::Padded : HeadsPolicy::Uneven;
  return settings;
}

}  // namespace shardlens::testing
