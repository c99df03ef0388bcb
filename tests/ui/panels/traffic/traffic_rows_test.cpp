// The Traffic tab's figures follow from the Program: counts, ring bytes and the measured times of the events.
#include "ui/panels/traffic/traffic_rows.h"

#include <gmock/gmock.h>

#include "engine/config/splits.h"
#include "engine/cost/price.h"
#include "engine/planner/planner.h"
#include "engine/runtime/snapshot.h"

namespace shardlens::ui {
namespace traffic_rows_test {

using ::testing::HasSubstr;

std::shared_ptr<Plan> plan_of(int tp, const std::string& split) {
  Settings settings;
  settings.tp = tp;
  settings.split = named_split(split);
  auto plan = std::make_shared<Plan>();
  plan->program = plan_program(settings);
  for (int rank = 0; rank < tp; ++rank)
    plan->cost.push_back(price(plan->program, find_hardware("v100-32gb"), rank));
  return plan;
}

TEST(TrafficRows, MegatronIsTwoAllReducesEachWay) {
  const auto rows = traffic_rows(*plan_of(4, "megatron"), nullptr, find_hardware("v100-32gb"));
  EXPECT_EQ(in_words(rows, Phase::Forward), "2 all-reduces");
  EXPECT_EQ(in_words(rows, Phase::Backward), "2 all-reduces");
  const int64_t tensor_bytes = 4 * 256 * 768 * 4;
  EXPECT_EQ(total(rows, Phase::Forward).sent_bytes, 2 * (2 * tensor_bytes * 3 / 4));
  EXPECT_EQ(total(rows).sent_bytes, 4 * (2 * tensor_bytes * 3 / 4));
  EXPECT_GT(total(rows).predicted_seconds, 0);
  EXPECT_EQ(total(rows).measured, 0);
}

TEST(TrafficRows, IdentitiesAreListedAndSendNothing) {
  int identities = 0;
  for (const TrafficRow& row : traffic_rows(*plan_of(4, "megatron"), nullptr, find_hardware("v100-32gb")))
    if (!row.sends()) {
      ++identities;
      EXPECT_EQ(row.op, Op::Identity);
      EXPECT_NE(row.conjugate, Conjugate::None);
      EXPECT_EQ(row.sent_bytes, 0);
      EXPECT_EQ(row.formula, "");
    }
  EXPECT_EQ(identities, 4);
}

TEST(TrafficRows, WordsJoinDifferentCollectives) {
  const auto rows = traffic_rows(*plan_of(4, "reversed"), nullptr, find_hardware("v100-32gb"));
  EXPECT_THAT(in_words(rows, Phase::Forward), HasSubstr("all-gathers"));
  EXPECT_THAT(in_words(rows, Phase::Forward), HasSubstr(" and "));
  EXPECT_EQ(
      in_words(traffic_rows(*plan_of(2, "replicated"), nullptr, find_hardware("v100-32gb")), Phase::Forward),
      "nothing");
}

// The norms' gains and shifts and the biases after row-parallel products: six vectors of 768.
TEST(TrafficRows, ABucketIsCountedAsAWhole) {
  const auto rows = traffic_rows(*plan_of(4, "megatron-sp"), nullptr, find_hardware("v100-32gb"));
  const auto bucket =
      std::find_if(rows.begin(), rows.end(), [](const TrafficRow& row) { return row.op == Op::AllReduce; });
  ASSERT_NE(bucket, rows.end());
  EXPECT_EQ(bucket->symbol, "6 gradients");
  EXPECT_EQ(bucket->full_bytes, 6 * 768 * 4);
  EXPECT_EQ(bucket->sent_bytes, 2 * 6 * 768 * 4 * 3 / 4);
  EXPECT_EQ(bucket->formula, "2 × 18.0 KiB × 3/4");
  EXPECT_THAT(
      bucket->why,
      HasSubstr(
          "For each of 6 gradients, the backward pass produces one term of a sum on each rank (Partial)"));
  EXPECT_THAT(bucket->why, HasSubstr("one all-reduce for all of them"));
}

TEST(TrafficRows, FormulaIsTheRing) {
  EXPECT_EQ(ring_formula(Collective::AllReduce, 3 << 20, 4), "2 × 3.00 MiB × 3/4");
  EXPECT_EQ(ring_formula(Collective::AllGather, 3 << 20, 4), "3.00 MiB × 3/4");
  EXPECT_EQ(ring_formula(Collective::AllToAll, 3 << 20, 4), "3.00 MiB × 3/16");
  EXPECT_EQ(ring_formula(Collective::AllReduce, 3 << 20, 1), "");
}

TEST(TrafficRows, MeasuredTimesAreTheSlowestRanks) {
  const auto plan = plan_of(2, "megatron");
  Result result;
  result.plan = plan;
  result.events.assign(2, std::vector<StepEvent>(plan->program.steps.size()));
  const StepId step = 5;  // the first all-reduce
  ASSERT_EQ(plan->program.step(step).op, Op::AllReduce);
  result.events[0][5] = {
      .begin_seconds = 1, .end_seconds = 1.5, .arrival_seconds = 1, .all_arrived_seconds = 1.2};
  result.events[1][5] = {
      .begin_seconds = 1.2, .end_seconds = 1.6, .arrival_seconds = 1.2, .all_arrived_seconds = 1.2};
  for (const TrafficRow& row : traffic_rows(*plan, &result, find_hardware("v100-32gb"))) {
    if (row.step != step) continue;
    EXPECT_TRUE(row.measured);
    EXPECT_NEAR(row.transfer_seconds, 0.4, 1e-12);
    EXPECT_NEAR(row.wait_seconds, 0.2, 1e-12);
    EXPECT_EQ(row.last_rank, 1);
    EXPECT_NEAR(row.bus_bytes_per_second, static_cast<double>(row.sent_bytes) / 0.4, 1);
  }
}

TEST(TrafficRows, ARunThatStandsEarlierHasNotMeasuredTheRest) {
  const auto plan = plan_of(2, "megatron");
  Result result;
  result.plan = plan;
  result.events.assign(2, std::vector<StepEvent>(6));  // steps 0 to 5
  const auto rows = traffic_rows(*plan, &result, find_hardware("v100-32gb"));
  EXPECT_EQ(total(rows).measured, 1);
}

TEST(TrafficRows, AnotherPlansResultIsIgnored) {
  const auto plan = plan_of(2, "megatron");
  Result result;
  result.plan = plan_of(2, "megatron");
  result.events.assign(2, std::vector<StepEvent>(plan->program.steps.size()));
  EXPECT_EQ(total(traffic_rows(*plan, &result, find_hardware("v100-32gb"))).measured, 0);
}

}  // namespace traffic_rows_test
}  // namespace shardlens::ui
