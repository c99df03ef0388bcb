// Programs that together have every operation, split and layout of the planner: what is derived of them is
// derived of any.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/planner/planner.h"
#include "tests/engine/small_layer.h"

namespace shardlens::testing {

struct NamedProgram {
  std::string name;
  Program program;
};

/// A whole model of two layers with all that steps can have: loss, update and, if asked for, dropout.
inline Settings derived_model(const char* preset, int tp, const std::string& split) {
  Settings settings;
  settings.model = model_preset(preset);
  settings.model.layers = 1;
  settings.block = Block::Model;
  settings.split = named_split(split);
  settings.tp = tp;
  settings.batch = 4;
  settings.seq = 8;
  settings.update = true;
  return settings;
}

inline std::vector<NamedProgram> every_program() {
  std::vector<NamedProgram> programs;
  const auto add = [&](const std::string& name, const Settings& settings) {
    programs.push_back({name, plan_program(settings)});
  };
  for (int tp = 1; tp <= 4; ++tp)
    for (const std::string& split : split_names()) {
      const std::string where = split + " on " + std::to_string(tp);
      for (const Block block : {Block::Layer, Block::Mlp, Block::Attention}) {
        Settings settings = small_layer(tp, split);
        settings.block = block;
        add(to_string(block) + " " + where, settings);
      }
      Settings model = derived_model("gpt2-tiny", tp, split);
      if (model.model.heads % tp != 0) model.heads_policy = HeadsPolicy::Uneven;
      add("model " + where, model);
      model.dropout = 0.1;
      model.recompute = Recompute::Full;
      add("model recomputed " + where, model);
      Settings bert = small_bert_layer(tp, split);
      add("bert " + where, bert);
    }
  for (const NormCut norm : {NormCut::Parallel, NormCut::Sequence})
    for (const EmbeddingCut table : {EmbeddingCut::Hidden, EmbeddingCut::Replicated, EmbeddingCut::Vocab}) {
      Settings model = derived_model("gpt2-tiny", 4, "megatron");
      model.split.norm = norm;
      model.split.embedding = table;
      const std::string cut = to_string(norm) + ", table " + to_string(table);
      add("model, norms " + cut, model);
      model.split.loss = LossForm::Gather;
      add("model, gathered loss, norms " + cut, model);
    }
  for (const char* preset : {"bert-tiny"})
    for (const int tp : {1, 2}) add(preset, derived_model(preset, tp, "megatron"));
  Settings layer = small_layer(4);
  layer.model.kv_heads = 2;
  add("shared key heads", layer);
  layer.model.kv_heads = 4;
  add("grouped queries", layer);
  layer.model.kv_heads = 1;
  layer.recompute = Recompute::Selective;
  add("one key head", layer);
  for (const HeadsPolicy policy : {HeadsPolicy::Uneven, HeadsPolicy::Padded}) {
    Settings uneven = small_layer(5);
    uneven.heads_policy = policy;
    add("heads " + to_string(policy), uneven);
    uneven.tp = 8;
    add("eight ranks, heads " + to_string(policy), uneven);
  }
  Settings integers = small_layer(3);
  integers.operands = Operands::Integer;
  add("integers", integers);
  Settings parts = small_layer(4);
  parts.overlap_chunks = 2;
  add("in parts", parts);
  Settings half = derived_model("gpt2-tiny", 2, "megatron");
  half.dtype = DType::Fp16;
  half.backend = BackendChoice::Cuda;
  half.dp = 2;
  half.micro_batches = 2;
  add("half precision, two replicas", half);
  Settings twelve = small_layer(12, "reversed");
  add("twelve ranks", twelve);
  Settings generation = derived_model("gpt2-tiny", 2, "megatron");
  generation.cache_tokens = 16;
  for (const int64_t fresh : {1, 8}) {
    generation.seq = fresh;
    programs.push_back({"generation of " + std::to_string(fresh), plan_generation(generation)});
  }
  generation.split.norm = NormCut::Sequence;
  programs.push_back({"generation, tokens cut", plan_generation(generation)});
  return programs;
}

}  // namespace shardlens::testing
