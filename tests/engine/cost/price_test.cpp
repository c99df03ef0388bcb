// Compares a planned layer's FLOPs, bytes and times with the closed formulas of the literature.
#include "engine/cost/price.h"

#include <gtest/gtest.h>

#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/cost/model_price.h"
#include "engine/planner/planner.h"

namespace shardlens {
namespace price_test {

Settings layer_settings(const std::string& model, int tp, const std::string& split = "megatron") {
  Settings settings;
  settings.model = model_preset(model);
  settings.tp = tp;
  settings.split = named_split(split);
  settings.batch = 2;
  settings.seq = 128;
  return settings;
}

struct Totals {
  int64_t forward = 0, backward = 0, forward_causal = 0, sent = 0;
};

Totals totals(const Settings& settings, int rank) {
  const Program program = plan_program(settings);
  const std::vector<StepCost> costs = price(program, find_hardware("h100-80gb"), rank);
  Totals sum;
  EXPECT_EQ(costs.size(), program.steps.size());
  for (const Step& step : program.steps) {
    const StepCost& cost = costs[static_cast<size_t>(step.id)];
    const bool forward = step.phase == Phase::Forward;
    (forward ? sum.forward : sum.backward) += cost.flops;
    if (forward) sum.forward_causal += cost.causal_flops;
    sum.sent += cost.sent_bytes;
  }
  return sum;
}

// 24·b·s·h² for the four weight matrices and 4·b·s²·h for the two products of attention; backward costs twice
// that.
TEST(Price, LayerHasTheTextbookFlops) {
  const Settings settings = layer_settings("gpt2", 1);
  const int64_t b = settings.batch, s = settings.seq, h = settings.model.hidden;
  const Totals sum = totals(settings, 0);
  EXPECT_EQ(sum.forward, 24 * b * s * h * h + 4 * b * s * s * h);
  EXPECT_EQ(sum.backward, 2 * sum.forward);
  EXPECT_EQ(sum.forward_causal, 24 * b * s * h * h + 2 * b * s * (s + 1) * h);
  const Totals bert = totals(layer_settings("bert-base", 1), 0);
  EXPECT_EQ(bert.forward, sum.forward);
  EXPECT_EQ(bert.forward_causal, bert.forward);  // no mask
}

// A pass of generation: the weights' products for each new token, and attention as far as a full cache goes.
TEST(Price, NewTokensAttendToTheWholeCache) {
  Settings settings = layer_settings("gpt2", 1);
  settings.block = Block::Model;
  settings.cache_tokens = 1024;
  const int64_t b = settings.batch, h = settings.model.hidden, layers = settings.model.layers, room = 1024;
  const int64_t logits = 2 * b * padded_vocab(settings.model, 1) * h;  // of the last token alone
  for (const int64_t s : {1, 128}) {
    settings.seq = s;
    const Totals sum = totals(settings, 0);
    EXPECT_EQ(sum.backward, 0);
    EXPECT_EQ(sum.forward, layers * (24 * b * s * h * h + 4 * b * s * room * h) + logits);
    EXPECT_EQ(sum.forward_causal,
              layers * (24 * b * s * h * h + 4 * b * (s * room - s * (s - 1) / 2) * h) + logits);
  }
}

TEST(Price, RanksShareTheFlops) {
  const int64_t serial = totals(layer_settings("gpt2", 1), 0).forward;
  for (const std::string split : {"megatron", "reversed", "row-row", "column-column"}) {
    for (const int tp : {2, 3, 4, 6, 12}) {
      int64_t sum = 0;
      for (int rank = 0; rank < tp; ++rank) sum += totals(layer_settings("gpt2", tp, split), rank).forward;
      EXPECT_EQ(sum, serial) << split << " T = " << tp;
    }
  }
  EXPECT_EQ(totals(layer_settings("gpt2", 4, "replicated"), 0).forward, serial);
}

// An MLP alone is cut unevenly where T does not divide it; the shares still add up.
TEST(Price, UnevenSharesAddUp) {
  Settings settings = layer_settings("gpt2", 5);
  settings.block = Block::Mlp;
  int64_t sum = 0;
  for (int rank = 0; rank < 5; ++rank) sum += totals(settings, rank).forward;
  EXPECT_EQ(sum, 16 * settings.tokens() * 768 * 768);
  EXPECT_NE(totals(settings, 0).forward, totals(settings, 4).forward);
}

// The chapter's exercise: hidden 4096, sequence 2048, batch 4, T = 8, fp16 gives 112 MiB an all-reduce and
// rank.
TEST(Price, ChapterExerciseOfBytes) {
  Settings settings;
  settings.model.hidden = 4096;
  settings.model.heads = 32;
  settings.model.ffn = 4 * 4096;
  settings.model.positions = 2048;
  settings.seq = 2048;
  settings.batch = 4;
  settings.tp = 8;
  settings.dtype = DType::Fp16;
  const Program program = plan_program(settings);
  const std::vector<StepCost> costs = price(program, find_hardware("h100-80gb"), 0);
  int forward = 0, backward = 0;
  for (const Step& step : program.steps) {
    const StepCost& cost = costs[static_cast<size_t>(step.id)];
    if (!is_collective(step.op)) {
      EXPECT_EQ(cost.sent_bytes, 0) << step.name;
      continue;
    }
    EXPECT_EQ(step.op, Op::AllReduce);
    EXPECT_EQ(cost.sent_bytes, 117'440'512) << step.name;
    // 14 hops of 3.4 µs and the bytes at 450 GB/s in one direction.
    EXPECT_NEAR(cost.predicted_seconds, 14 * 3.4e-6 + 117'440'512 / 450e9, 1e-9);
    ++(step.phase == Phase::Forward ? forward : backward);
  }
  EXPECT_EQ(forward, 2);
  EXPECT_EQ(backward, 2);
}

TEST(Price, ComputeTakesTheLongerOfArithmeticAndMemory) {
  const Program program = plan_program(layer_settings("megatron-8.3b", 8));
  const Hardware& hardware = find_hardware("a100-80gb");
  const std::vector<StepCost> costs = price(program, hardware, 0);
  for (const Step& step : program.steps) {
    const StepCost& cost = costs[static_cast<size_t>(step.id)];
    if (is_collective(step.op)) continue;
    const double arithmetic = static_cast<double>(cost.flops) / hardware.fp32_flops;
    const double memory = static_cast<double>(cost.touched_bytes) / hardware.memory_bytes_per_second;
    EXPECT_DOUBLE_EQ(cost.predicted_seconds, std::max(arithmetic, memory)) << step.name;
    if (step.op == Op::Gelu) {
      // Reads and writes this rank's [tokens, 4h / T] in fp32.
      EXPECT_EQ(cost.touched_bytes, 2 * 4 * 256 * 4 * 3072 / 8);
      EXPECT_EQ(cost.flops, 0);
    }
    EXPECT_TRUE(step.op != Op::Identity || cost.touched_bytes == 0);
  }
}

// A weight's gradient sums into fp32, and still multiplies in fp16: no product of a model in fp16 runs at the
// speed of fp32.
TEST(Price, AProductRunsAtTheSpeedOfWhatItMultiplies) {
  Settings settings = layer_settings("gpt2", 2);
  settings.block = Block::Model;
  settings.model.layers = 1;
  settings.dtype = DType::Fp16;
  const Program program = plan_program(settings);
  const Hardware& hardware = find_hardware("a100-80gb");
  const std::vector<StepCost> costs = price(program, hardware, 0);
  int into_fp32 = 0;
  for (const Step& step : program.steps) {
    const StepCost& cost = costs[static_cast<size_t>(step.id)];
    if (cost.flops == 0) continue;
    into_fp32 += program.tensor(step.outputs[0]).dtype == DType::Fp32;
    const double arithmetic = static_cast<double>(cost.flops) / hardware.fp16_flops;
    const double memory = static_cast<double>(cost.touched_bytes) / hardware.memory_bytes_per_second;
    EXPECT_DOUBLE_EQ(cost.predicted_seconds, std::max(arithmetic, memory)) << step.name;
  }
  EXPECT_GE(into_fp32, 4) << "the gradients of four matrices";
}

TEST(Price, WhatAPresetDoesNotSayIsNotPredicted) {
  for (const StepCost& cost :
       price(plan_program(layer_settings("gpt2", 2)), find_hardware("this-machine"), 0)) {
    EXPECT_EQ(cost.predicted_seconds, 0);
  }
  Settings settings = layer_settings("gpt2", 1);
  settings.dtype = DType::Bf16;  // a V100 has no bf16 arithmetic
  const Program program = plan_program(settings);
  const std::vector<StepCost> costs = price(program, find_hardware("v100-32gb"), 0);
  // Nor what else is in it, which would add up to a time without the products.
  for (const Step& step : program.steps)
    EXPECT_EQ(costs[static_cast<size_t>(step.id)].predicted_seconds, 0) << step.name;
  settings.block = Block::Model;
  settings.dp = 2;
  EXPECT_EQ(price_model(settings, find_hardware("v100-32gb"), 3).step_seconds, 0);
  settings.dtype = DType::Fp16;
  EXPECT_GT(price_model(settings, find_hardware("v100-32gb"), 3).step_seconds, 0);
}

Hardware two_links() {
  Hardware hardware;
  hardware.ranks_per_node = 8;
  hardware.link_latency_seconds = 1e-6;
  hardware.link_bytes_per_second = 100e9;
  hardware.node_latency_seconds = 5e-6;
  hardware.node_bytes_per_second = 20e9;
  return hardware;
}

double all_reduce_seconds(const Ring& ring, const Hardware& hardware) {
  return collective_seconds(Collective::AllReduce, 1'000'000, ring, hardware);
}

TEST(CollectiveSeconds, RingHopsAndTheNodeBoundary) {
  const Hardware hardware = two_links();
  const Ring eight = tp_ring(8, 1, hardware);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(eight, hardware), 14e-6 + 1e-5);
  EXPECT_DOUBLE_EQ(collective_seconds(Collective::AllGather, 1'000'000, eight, hardware), 7e-6 + 1e-5);
  EXPECT_DOUBLE_EQ(collective_seconds(Collective::ReduceScatter, 1'000'000, eight, hardware), 7e-6 + 1e-5);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(tp_ring(16, 1, hardware), hardware), 30 * 5e-6 + 5e-5);
  EXPECT_EQ(all_reduce_seconds(tp_ring(1, 1, hardware), hardware), 0);
  EXPECT_EQ(collective_seconds(Collective::Slice, 0, eight, hardware), 0);
}

// Groups of a layer fill nodes in order; copies of a rank lie T apart, and all of a node's leave it at once.
TEST(CollectiveSeconds, GroupsArePlacedInNodes) {
  const Hardware hardware = two_links();
  EXPECT_FALSE(tp_ring(4, 16, hardware).crosses_nodes);
  EXPECT_FALSE(tp_ring(3, 2, hardware).crosses_nodes);  // six ranks of one node
  EXPECT_TRUE(tp_ring(3, 3, hardware).crosses_nodes);   // the third group begins in the first node
  EXPECT_FALSE(dp_ring(4, 2, hardware).crosses_nodes);
  EXPECT_TRUE(dp_ring(4, 4, hardware).crosses_nodes);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(dp_ring(4, 4, hardware), hardware), 6 * 5e-6 + 1e6 / (20e9 / 4));
  EXPECT_DOUBLE_EQ(all_reduce_seconds(dp_ring(1, 16, hardware), hardware), 30 * 5e-6 + 1e6 / 20e9);
}

TEST(CollectiveSeconds, WhatWasMeasuredComesFirst) {
  Hardware hardware = two_links();
  hardware.links[{"all-reduce", 2}] = {2e-6, 10e9};
  EXPECT_DOUBLE_EQ(all_reduce_seconds(tp_ring(2, 1, hardware), hardware), 2 * 2e-6 + 1e-4);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(tp_ring(4, 1, hardware), hardware), 6 * 2e-6 + 1e-4);  // the nearest
  EXPECT_DOUBLE_EQ(collective_seconds(Collective::AllGather, 1'000'000, tp_ring(2, 1, hardware), hardware),
                   1e-6 + 1e-5);  // not measured
}

TEST(Price, MeasuredStepsTakeWhatTheirKindTook) {
  Hardware hardware = find_hardware("a100-80gb");
  const Settings settings = layer_settings("gpt2", 2);
  const int64_t fc_flops = 2 * 256 * 768 * 3072 / 2;
  hardware.rates[{"linear", DType::Fp32, 2}] = {{static_cast<double>(fc_flops) / 2, 1e9},
                                                {static_cast<double>(fc_flops) * 2, 3e9}};
  const Program program = plan_program(settings);
  const std::vector<StepCost> costs = price(program, hardware, 0);
  for (const Step& step : program.steps) {
    const StepCost& cost = costs[static_cast<size_t>(step.id)];
    if (step.name == "mlp.fc") {  // half way between the two on a logarithmic scale
      EXPECT_NEAR(cost.predicted_seconds, static_cast<double>(fc_flops) / 2e9, 1e-9);
    }
    if (step.op == Op::Gelu) {
      EXPECT_DOUBLE_EQ(cost.predicted_seconds, static_cast<double>(cost.touched_bytes) / 2039e9);
    }
  }
  // And their matrices what bringing them took.
  hardware.rates[{operands_of("linear"), DType::Fp32, 2}] = {{1e6, 4e9}};
  const std::vector<StepCost> brought = price(program, hardware, 0);
  for (const Step& step : program.steps) {
    const auto i = static_cast<size_t>(step.id);
    const double more = step.op == Op::Linear ? static_cast<double>(costs[i].touched_bytes) / 4e9 : 0;
    EXPECT_DOUBLE_EQ(brought[i].predicted_seconds, costs[i].predicted_seconds + more) << step.name;
  }
}

}  // namespace price_test
}  // namespace shardlens
