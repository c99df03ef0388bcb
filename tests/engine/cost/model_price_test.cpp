// The price of a model, computed from two small Programs, equals the sum over its whole plan.
#include "engine/cost/model_price.h"

#include <gmock/gmock.h>

#include <chrono>

#include "engine/base/error.h"
#include "engine/config/presets.h"
#include "engine/planner/planner.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace model_price_test {

using testing::small_bert;
using testing::small_model;

void expect_equal_to_the_whole_plan(const Settings& settings, const Hardware& hardware) {
  const Program program = plan_program(settings);
  const CostSum whole = sum_costs(program, price(program, hardware, 0));
  const ModelPrice priced = price_model(settings, hardware);
  EXPECT_EQ(priced.sum.flops, whole.flops);
  EXPECT_EQ(priced.sum.causal_flops, whole.causal_flops);
  EXPECT_EQ(priced.sum.touched_bytes, whole.touched_bytes);
  EXPECT_EQ(priced.sum.tp_collectives, whole.tp_collectives);
  EXPECT_EQ(priced.sum.tp_sent_bytes, whole.tp_sent_bytes);
  EXPECT_EQ(priced.sum.dp_collectives, whole.dp_collectives);
  EXPECT_EQ(priced.sum.dp_sent_bytes, whole.dp_sent_bytes);
  const BytesByKind planned = plan_memory(program, 0).arena_bytes;
  for (size_t kind = 0; kind < planned.size(); ++kind) {
    // How many parts' activations are packed beside each other is the one figure that does not grow evenly.
    const bool packed = kind == static_cast<size_t>(MemoryKind::Activation) && settings.micro_batches > 3;
    EXPECT_NEAR(static_cast<double>(priced.memory_bytes[kind]), static_cast<double>(planned[kind]),
                packed ? 0.01 * static_cast<double>(planned[kind]) : 0)
        << to_string(static_cast<MemoryKind>(kind));
  }
  // Seconds are sums of the same numbers in another order.
  EXPECT_NEAR(priced.step_seconds, whole.seconds(), 1e-12 * whole.seconds());
  EXPECT_NEAR(priced.sum.tp_seconds, whole.tp_seconds, 1e-12 * whole.seconds());
  EXPECT_NEAR(priced.sum.update_seconds, whole.update_seconds, 1e-12 * whole.seconds());
}

TEST(ModelPrice, EqualsTheWholePlanExactly) {
  const Hardware& hardware = find_hardware("a100-80gb");
  for (const char* split : {"megatron", "reversed", "row-row", "column-column", "replicated"}) {
    for (const int tp : {1, 2, 3}) {
      for (const int layers : {1, 2, 5, 9}) {
        for (const Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full}) {
          Settings settings = small_model(tp, 1, split);
          settings.model.layers = layers;
          settings.recompute = recompute;
          SCOPED_TRACE(::testing::Message() << split << " T " << tp << " layers " << layers << " recompute "
                                            << to_string(recompute));
          expect_equal_to_the_whole_plan(settings, hardware);
        }
      }
    }
  }
}

TEST(ModelPrice, EqualsTheWholePlanWithReplicasAndPartsOfABatch) {
  const Hardware& hardware = find_hardware("v100-32gb");
  for (const int dp : {1, 2, 4}) {
    for (const int parts : {1, 2, 3, 5, 6, 8, 12}) {
      Settings settings = small_model(2, dp);
      settings.model.layers = 5;
      settings.micro_batches = parts;
      settings.batch = 8 * dp * parts;
      SCOPED_TRACE(::testing::Message() << "D " << dp << " parts " << parts);
      expect_equal_to_the_whole_plan(settings, hardware);
      Settings bert = small_bert(3, dp);
      bert.model.layers = 4;
      bert.micro_batches = parts;
      bert.batch = 2 * dp * parts;
      bert.dtype = DType::Fp16;
      expect_equal_to_the_whole_plan(bert, hardware);
    }
  }
}

// Models large enough for many buckets of gradients, with untied ends and an fp16 optimizer.
TEST(ModelPrice, EqualsTheWholePlanInManyBuckets) {
  for (const char* name : {"gpt2", "bert-base"}) {
    for (const bool tied : {true, false}) {
      Settings settings;
      settings.block = Block::Model;
      settings.model = model_preset(name);
      settings.model.tied = tied;
      settings.tp = 2;
      settings.dp = 4;
      settings.dtype = DType::Fp16;
      settings.batch = 8;
      settings.update = true;
      SCOPED_TRACE(name);
      expect_equal_to_the_whole_plan(settings, find_hardware("h100-80gb"));
    }
  }
}

Settings trillion() {
  Settings settings;
  settings.block = Block::Model;
  settings.model = model_preset("gpt-1t");
  settings.tp = 8;
  settings.dp = 6;
  settings.micro_batches = 512;
  settings.batch = 6 * 512;
  settings.seq = 2048;
  settings.dtype = DType::Fp16;
  settings.recompute = Recompute::Full;
  settings.update = true;
  return settings;
}

TEST(ModelPrice, ATrillionParametersInThreeDimensions) {
  const Settings settings = trillion();
  const ModelPrice price = price_model(settings, find_hardware("a100-80gb"), 64);
  EXPECT_EQ(price.ranks, 8 * 6 * 64);
  EXPECT_EQ(price.pipeline.stage_layers, 2);
  EXPECT_DOUBLE_EQ(price.pipeline.bubble_fraction, 63.0 / 575.0);
  EXPECT_EQ(price.pipeline.hop_bytes, int64_t{2048} * 25600 * 2);
  EXPECT_EQ(price.pipeline.sent_bytes, 2 * 512 * price.pipeline.hop_bytes);
  // Two layers forward, again, and backward on an eighth, for every part; the head makes it the slowest.
  const int64_t s = 2048, h = 25600;
  const int64_t layers = 2 * 4 * (24 * s * h * h + 4 * s * s * h) / 8;
  const int64_t head = 3 * 2 * s * h * 51200 / 8;
  EXPECT_EQ(price.sum.flops, 512 * (layers + head));
  EXPECT_LT(total_bytes(price.memory_bytes), 80'000'000'000);
}

// A stage waits for the others: the same work in more stages takes longer by the bubble and the hops alone.
TEST(ModelPrice, StagesShareTheLayersAndPayTheBubble) {
  Settings settings = trillion();
  settings.dp = 1;
  settings.batch = settings.micro_batches = 8;
  const Hardware& hardware = find_hardware("h200-141gb");
  const ModelPrice one = price_model(settings, hardware, 1);
  EXPECT_EQ(one.pipeline.bubble_fraction, 0);
  EXPECT_EQ(one.pipeline.sent_bytes, 0);
  const ModelPrice many = price_model(settings, hardware, 16);
  EXPECT_DOUBLE_EQ(many.pipeline.bubble_fraction, 15.0 / 23.0);
  EXPECT_LT(total_bytes(many.memory_bytes), total_bytes(one.memory_bytes));
  const double busy = many.sum.compute_seconds + many.sum.tp_seconds + 2 * 8 * many.pipeline.hop_seconds;
  EXPECT_NEAR(many.step_seconds, busy * 23 / 8 + many.sum.update_seconds, 1e-9 * many.step_seconds);
}

TEST(ModelPrice, RefusesWhatHasNoPlace) {
  Settings settings = trillion();
  EXPECT_THROW(price_model(settings, find_hardware("a100-80gb"), 129), Error);
  settings.dp = 1;
  EXPECT_THROW(price_model(settings, find_hardware("a100-80gb-2-nodes"), 4), Error);
  EXPECT_NO_THROW(price_model(settings, find_hardware("a100-80gb-2-nodes"), 2));
  settings.block = Block::Layer;
  EXPECT_THROW(price_model(settings, find_hardware("a100-80gb")), Error);
}

}  // namespace model_price_test
}  // namespace shardlens
