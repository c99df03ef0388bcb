// The words and rows for two recordings side by side, from comparisons made by hand.
#include "ui/panels/recordings/recordings_rows.h"

#include <gmock/gmock.h>

#include "engine/planner/planner.h"
#include "engine/train/experiments/diff_session.h"
#include "tests/engine/small_model.h"
#include "ui/widgets/sort_order.h"

namespace shardlens::ui {
namespace recordings_rows_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Program with_steps(std::vector<std::string> names) {
  Program program;
  for (const std::string& name : names) {
    Step step;
    step.id = static_cast<StepId>(program.steps.size());
    step.name = name;
    program.steps.push_back(step);
  }
  return program;
}

ComparedRuns of(Program a, Program b) {
  ComparedRuns runs;
  for (const Step& step : a.steps) runs.diff.a_step_seconds.push_back(1.0 + step.id);
  for (const Step& step : b.steps) runs.diff.b_step_seconds.push_back(2.0 + 2 * step.id);
  std::vector<bool> paired(b.steps.size());
  for (const Step& mine : a.steps) {
    bool found = false;
    for (const Step& other : b.steps) {
      if (other.name != mine.name) continue;
      StepDiff both;
      both.a = mine.id;
      both.b = other.id;
      both.a_seconds = runs.diff.a_step_seconds[static_cast<size_t>(mine.id)];
      both.b_seconds = runs.diff.b_step_seconds[static_cast<size_t>(other.id)];
      runs.diff.steps.push_back(both);
      paired[static_cast<size_t>(other.id)] = found = true;
    }
    if (!found) runs.diff.only_a.push_back(mine.id);
  }
  for (const Step& step : b.steps)
    if (!paired[static_cast<size_t>(step.id)]) runs.diff.only_b.push_back(step.id);
  runs.a.program = std::make_shared<Program>(std::move(a));
  runs.b.program = std::make_shared<Program>(std::move(b));
  return runs;
}

std::vector<std::string> names(const std::vector<DiffRow>& rows) {
  std::vector<std::string> list;
  for (const DiffRow& row : rows) list.push_back(row.name);
  return list;
}

TEST(RecordingsRows, WhatOnlyOneHasStandsWhereItIsDone) {
  const ComparedRuns runs =
      of(with_steps({"ln", "fc", "gelu", "proj"}), with_steps({"slice", "ln", "gelu", "gather", "proj"}));
  const std::vector<DiffRow> rows = diff_rows(runs);
  EXPECT_THAT(names(rows), ElementsAre("slice", "ln", "fc", "gelu", "gather", "proj"));
  EXPECT_EQ(rows[0].a, -1);
  EXPECT_EQ(rows[2].b, -1);
  EXPECT_EQ(rows[2].ratio(), 0) << "half a step has no ratio";
  EXPECT_DOUBLE_EQ(rows[3].ratio(), 6.0 / 3.0);
  EXPECT_EQ(rows[4].b_seconds, 8);
}

TEST(RecordingsRows, SortedBothWaysWhatIsMissingComesLast) {
  const ComparedRuns runs = of(with_steps({"b", "only", "a"}), with_steps({"a", "b"}));
  const std::vector<DiffRow> rows = diff_rows(runs);
  const auto sorted = [&](DiffColumn column, bool descending) {
    std::vector<std::string> list;
    for (const size_t place : sorted_places(rows, {static_cast<int>(column), descending}))
      list.push_back(rows[place].name);
    return list;
  };
  EXPECT_THAT(sorted(DiffColumn::TimeB, true), ElementsAre("b", "a", "only"));
  EXPECT_THAT(sorted(DiffColumn::TimeB, false), ElementsAre("a", "b", "only"));
  EXPECT_THAT(sorted(DiffColumn::Name, false), ElementsAre("a", "b", "only"));
}

TEST(RecordingsRows, AClickSortsThenTurnsThenForgets) {
  SortOrder order;
  order = order.clicked(3, true);
  EXPECT_EQ(order, (SortOrder{3, true}));
  order = order.clicked(3, true);
  EXPECT_EQ(order, (SortOrder{3, false}));
  order = order.clicked(3, true);
  EXPECT_EQ(order, SortOrder{});
  EXPECT_EQ((SortOrder{3, true}.clicked(1, false)), (SortOrder{1, false}));
}

TEST(RecordingsRows, AMetricThatPartsNamesItsValuesAndTheRemedy) {
  ComparedRuns runs = of(with_steps({"a"}), with_steps({"a"}));
  MetricDiff norm;
  norm.name = "gradient_norm";
  norm.passes = 9;
  norm.first = 4;
  norm.a = 2.5;
  norm.b = 2.75;
  runs.diff.metrics.push_back(norm);
  runs.diff.shared_passes = 9;
  runs.diff.parting.emplace();
  runs.diff.parting->metric = "gradient_norm";
  runs.diff.parting->a_pass = 4;
  runs.diff.parting->b_pass = 7;
  const Answer answer = answer_of(runs);
  EXPECT_EQ(answer.headline, "First difference in pass 4 of A, 7 of B: gradient norm");
  EXPECT_THAT(answer.lines[0], HasSubstr("2.5 in A and 2.75 in B"));
  EXPECT_THAT(answer.lines[1], HasSubstr("--record-pictures all"));
}

TEST(RecordingsRows, TitlesAreFilesOrTheGallerysOwn) {
  EXPECT_EQ(recording_title("/tmp/some folder/monday.shardlens"), "monday");
  EXPECT_EQ(recording_title("gallery:late-rank"), "One rank is late");
}

}  // namespace recordings_rows_test
}  // namespace shardlens::ui
