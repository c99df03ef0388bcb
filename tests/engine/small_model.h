// Whole models small enough to run many times in a test, with sizes that do not divide well: 53 words, 5
// heads.
#pragma once

#include "tests/engine/small_layer.h"

namespace shardlens::testing {

inline Settings small_model(int tp, int dp = 1, const std::string& split = "megatron") {
  Settings settings;
  settings.block = Block::Model;
  settings.model.layers = 2;
  settings.model.hidden = 40;
  settings.model.heads = 5;
  settings.model.ffn = 96;
  settings.model.vocab = 53;
  settings.model.positions = 16;
  settings.batch = 4;
  settings.seq = 11;
  settings.tp = tp;
  settings.dp = dp;
  settings.heads_policy = HeadsPolicy::Uneven;
  settings.split = named_split(split);
  settings.threads_per_rank = 1;
  settings.update = true;
  return settings;
}

inline Settings small_bert(int tp, int dp = 1, const std::string& split = "megatron") {
  Settings settings = small_model(tp, dp, split);
  settings.model.name = "bert";
  settings.model.form = "bert";
  settings.model.objective = Objective::MaskedWords;
  settings.model.norm = NormPlacement::Post;
  settings.model.causal = false;
  settings.model.activation = Activation::GeluErf;
  settings.model.norm_epsilon = 1e-12;
  return settings;
}

}  // namespace shardlens::testing
