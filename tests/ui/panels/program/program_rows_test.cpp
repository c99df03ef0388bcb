// The Program as text: every step has its cells, the filter accepts words, and the JSON holds the same steps.
#include "ui/panels/program/program_rows.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "engine/planner/planner.h"
#include "engine/runtime/snapshot.h"

namespace shardlens::ui {
namespace program_rows_test {

Plan plan_of(int tp) {
  Settings settings;
  settings.tp = tp;
  Plan plan;
  plan.program = plan_program(settings);
  for (int rank = 0; rank < tp; ++rank)
    plan.cost.push_back(price(plan.program, find_hardware("v100-32gb"), rank));
  return plan;
}

TEST(ProgramRows, EveryStepHasARow) {
  const Plan plan = plan_of(4);
  const auto rows = program_rows(plan);
  ASSERT_EQ(rows.size(), plan.program.steps.size());
  for (const ProgramRow& row : rows) EXPECT_EQ(row.cells.size(), kProgramColumns);
  EXPECT_EQ(rows[2].cell(ProgramColumn::Name), "attn.qkv");
  EXPECT_EQ(rows[2].cell(ProgramColumn::Output), "attn.qkv.out : [1024, 3, 12, 64]");
  EXPECT_EQ(rows[2].cell(ProgramColumn::PerRank), "[1024, 3, 3, 64]");
  EXPECT_EQ(rows[5].cell(ProgramColumn::Mark), "g");
  EXPECT_EQ(rows[5].cell(ProgramColumn::Sent), "4.50 MiB");
}

TEST(ProgramRows, FilterWantsEveryWordInAnyCase) {
  const auto rows = program_rows(plan_of(4));
  EXPECT_EQ(filtered(rows, "").size(), rows.size());
  EXPECT_EQ(filtered(rows, "ALL-reduce Backward").size(), 2u);
  EXPECT_EQ(filtered(rows, "all-reduce nowhere").size(), 0u);
}

TEST(ProgramRows, UnevenShardsSaySo) {
  Settings settings;
  Program program;
  program.settings.tp = 5;
  Tensor tensor;
  tensor.shape = {4, 12};
  tensor.layout = sharded(1);
  EXPECT_EQ(shape_per_rank(program, tensor), "[4, 3] …");
}

TEST(ProgramRows, JsonIsTheSameSteps) {
  const Plan plan = plan_of(2);
  const auto rows = filtered(program_rows(plan), "mlp.proj forward");
  const auto json = nlohmann::json::parse(as_json(plan, rows));
  ASSERT_EQ(json.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(json[i]["step"], rows[i].step);
    EXPECT_EQ(json[i]["equation"], rows[i].cell(ProgramColumn::Equation));
  }
  EXPECT_EQ(json[0]["inputs"][0]["layout"], "Sharded(1)");
}

}  // namespace program_rows_test
}  // namespace shardlens::ui
