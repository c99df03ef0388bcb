// A layer small enough to run hundreds of times in a test. It has GPT-2 small's twelve heads, so T = 1, 2, 3,
// 4, 6 and 12 are all possible.
#pragma once

#include <memory>

#include "engine/config/splits.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"

namespace shardlens::testing {

inline Settings small_layer(int tp, const std::string& split = "megatron") {
  Settings settings;
  settings.model.hidden = 96;
  settings.model.heads = 12;
  settings.model.ffn = 384;
  settings.model.positions = 64;
  settings.batch = 2;
  settings.seq = 24;
  settings.tp = tp;
  settings.split = named_split(split);
  settings.threads_per_rank = 1;
  return settings;
}

inline Settings small_bert_layer(int tp, const std::string& split = "megatron") {
  Settings settings = small_layer(tp, split);
  settings.model.name = "bert-base";
  settings.model.form = "bert";
  settings.model.objective = Objective::MaskedWords;
  settings.model.norm = NormPlacement::Post;
  settings.model.causal = false;
  settings.model.activation = Activation::GeluErf;
  settings.model.norm_epsilon = 1e-12;
  return settings;
}

/// Runs a plan from start to end with `observers` watching.
inline void run(const std::shared_ptr<const Plan>& plan,
                std::vector<std::shared_ptr<StepObserver>> observers) {
  Executor executor(plan);
  executor.observe(std::move(observers));
  executor.start(executor.steps());
  executor.wait();
}

}  // namespace shardlens::testing
