// A calibration holds every rate that it reports, and prices every step with them. `bench calibrate` prints
// how accurate it is on this machine; that is not tested.
#include "engine/runtime/measure/calibrate.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/comm/allreduce_bench.h"
#include "engine/cost/pass_time.h"
#include "engine/device/device.h"
#include "engine/planner/planner.h"
#include "engine/runtime/plan.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace calibrate_test {

using testing::small_model;

TEST(FitAlphaBeta, FindsWhatPointsWereMadeOf) {
  for (const Collective collective : {Collective::AllReduce, Collective::AllGather, Collective::AllToAll}) {
    std::vector<AllReducePoint> points;
    for (const int64_t bytes : {4096, 1 << 20, 64 << 20}) {
      AllReducePoint point{.ranks = 4, .bytes = bytes};
      const double hops = collective == Collective::AllReduce ? 6 : 3;
      point.best_seconds = hops * 2e-6 + static_cast<double>(ring_sent_bytes(collective, bytes, 4)) / 10e9;
      points.push_back(point);
    }
    const LinkRate fitted = fit_alpha_beta(collective, points);
    EXPECT_NEAR(fitted.latency_seconds, 2e-6, 1e-11);
    EXPECT_NEAR(fitted.bytes_per_second, 10e9, 1e5);
  }
  EXPECT_THROW(fit_alpha_beta(Collective::AllReduce, {}), Error);
}

TEST(CollectiveBench, TimesEveryCollective) {
  for (const Collective collective :
       {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather, Collective::AllToAll}) {
    const auto points =
        bench_all_reduce({.collective = collective, .ranks = {3}, .sizes_bytes = {1001, 4096}, .rounds = 2});
    ASSERT_EQ(points.size(), 2u) << to_string(collective);
    for (const AllReducePoint& point : points) EXPECT_GT(point.best_seconds, 0);
  }
}

TEST(Calibrate, MeasuresEveryKindOfStepOnEveryDegreeWithCores) {
  const Hardware hardware = calibrate({small_model(1)}, 1);
  EXPECT_TRUE(hardware.is_calibrated());
  EXPECT_EQ(hardware.name, "this-machine");
  EXPECT_GT(hardware.fp32_flops, 0);
  EXPECT_EQ(hardware.fp64_flops, 0);  // not asked for
  EXPECT_GT(hardware.memory_bytes_per_second, 0);
  EXPECT_EQ(degrees_with_cores().back(), available_cores());
  for (const int tp : degrees_with_cores()) {
    Settings settings = small_model(tp);
    settings.model.layers = 3;  // another model than the one measured
    const Program program = plan_program(settings);
    for (const Step& step : program.steps) {
      if (step.op == Op::Identity) continue;
      const StepCost cost = price(program, hardware, 0)[static_cast<size_t>(step.id)];
      EXPECT_GT(cost.predicted_seconds, 0) << step.name << " T " << tp;
    }
    EXPECT_EQ(hardware.links.count({"all-reduce", tp}), tp > 1 ? 1u : 0u);
  }
}

TEST(Calibrate, WhatWasMeasuredInAnotherDtypeStands) {
  const std::string here = "measured by bench calibrate on " + machine_description();
  Hardware fp32;
  fp32.basis = here + ", fp32, 2026-01-02";
  fp32.fp32_flops = 1e9;
  fp32.rates[{"linear", DType::Fp32, 1}] = {{1, 2}};
  fp32.links[{"all-reduce", 2}] = {1e-6, 1e9};
  fp32.sources = {{"fp32_flops", "that day"}, {"rates", "that day"}};
  Hardware bf16;
  bf16.basis = here + ", bf16, 2026-01-03";
  bf16.bf16_flops = 2e9;
  bf16.rates[{"linear", DType::Bf16, 1}] = {{1, 4}};
  bf16.links[{"all-reduce", 2}] = {2e-6, 2e9};
  bf16.sources = {{"bf16_flops", "this day"}, {"rates", "this day"}};

  const Hardware both = with_other_dtypes(bf16, fp32);
  EXPECT_EQ(both.basis, bf16.basis + "; fp32 before");
  EXPECT_EQ(both.fp32_flops, 1e9);
  EXPECT_EQ(both.bf16_flops, 2e9);
  EXPECT_EQ(both.rates.size(), 2u);
  EXPECT_EQ(both.links, bf16.links);
  EXPECT_EQ(both.sources.size(), 3u);

  Hardware again = bf16;
  again.bf16_flops = 3e9;
  again.rates[{"linear", DType::Bf16, 1}] = {{1, 6}};
  const Hardware third = with_other_dtypes(again, both);
  EXPECT_EQ(third.bf16_flops, 3e9);
  EXPECT_EQ(third.rates.at({"linear", DType::Bf16, 1}), again.rates.at({"linear", DType::Bf16, 1}));
  EXPECT_EQ(third.fp32_flops, 1e9);

  fp32.basis = "measured by bench calibrate on another machine, fp32, 2026-01-02";
  EXPECT_EQ(with_other_dtypes(bf16, fp32), bf16);
}

TEST(OperandRate, FindsWhatTimesWereMadeOf) {
  std::vector<ProductTime> times;
  for (const double flops : {1e7, 1e9, 2e10})
    for (const double bytes : {1e6, 3e7}) times.push_back({flops, bytes, flops / 1e11 + bytes / 2e10});
  EXPECT_NEAR(operand_rate(times), 2e10, 1e3);
  for (ProductTime& time : times) time.seconds = time.flops / 1e11;
  EXPECT_TRUE(operand_rate(times) == 0 || operand_rate(times) > 1e15) << "bytes that cost nothing";
  for (ProductTime& time : times) time.bytes = time.flops / 30;
  EXPECT_EQ(operand_rate(times), 0) << "all of one intensity tell nothing of bytes";
}

TEST(StepTimes, BringPredictedAndMeasuredTogether) {
  Settings settings = small_model(2);
  settings.hardware = "a100-80gb";
  const std::shared_ptr<const Plan> plan = make_plan(plan_program(settings));
  const size_t steps = plan->program.steps.size();
  std::vector<std::vector<StepEvent>> events(2, std::vector<StepEvent>(steps));
  double clock = 0;
  for (size_t step = 0; step < steps; ++step) {
    for (size_t rank = 0; rank < 2; ++rank) {
      StepEvent& event = events[rank][step];
      event.begin_seconds = event.arrival_seconds = clock + 0.25 * static_cast<double>(rank);
      event.all_arrived_seconds = clock + 0.25;  // rank 0 waits for rank 1
      event.end_seconds = clock + 1;
    }
    clock += 1;
  }
  const TimeComparison times = compare_times(*plan, events);
  ASSERT_EQ(times.steps.size(), steps);
  EXPECT_DOUBLE_EQ(times.measured_seconds, static_cast<double>(steps));
  double predicted = 0;
  for (const Step& step : plan->program.steps) {
    const StepTimes& both = times.steps[static_cast<size_t>(step.id)];
    EXPECT_DOUBLE_EQ(both.measured_seconds, is_collective(step.op) ? 0.75 : 1);
    EXPECT_DOUBLE_EQ(times.means[static_cast<size_t>(step.id)].measured_seconds,
                     is_collective(step.op) ? 0.75 : 0.875);
    EXPECT_EQ(both.predicted_seconds, plan->cost[0][static_cast<size_t>(step.id)].predicted_seconds);
    predicted += both.predicted_seconds;
  }
  EXPECT_EQ(times.predicted_seconds, predicted_pass_seconds(plan->program, plan->cost));
  EXPECT_LT(times.predicted_seconds, predicted) << "sums go on beside the steps";
  EXPECT_DOUBLE_EQ(times.error(), times.predicted_seconds / static_cast<double>(steps) - 1);
  EXPECT_NE(times.predicted_on.find("A100"), std::string::npos);
}

}  // namespace calibrate_test
}  // namespace shardlens
