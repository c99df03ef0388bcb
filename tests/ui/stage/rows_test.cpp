// The Stage's rows follow from the Program alone, in its order, with words that follow from the layouts.
#include "ui/stage/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/config/splits.h"
#include "engine/planner/planner.h"

namespace shardlens::ui::stage {
namespace rows_test {

Program program_of(const std::string& split, int tp) {
  Settings settings;
  settings.split = named_split(split);
  settings.tp = tp;
  settings.batch = 1;
  settings.seq = 16;
  return plan_program(settings);
}

TEST(StageRows, EveryStepHasExactlyOneRowInTheProgramsOrder) {
  for (const std::string split : {"megatron", "reversed", "replicated"}) {
    for (const int tp : {1, 2, 4, 12}) {
      const Program program = program_of(split, tp);
      StepId expected = 0;
      for (const Row& row : rows_of(program)) {
        if (row.step < 0) continue;
        EXPECT_EQ(row.step, expected++);
        EXPECT_EQ(program.step(row.step).equation.find(row.title), 0u);
        EXPECT_EQ(row.tensor, program.step(row.step).outputs[0]);
      }
      EXPECT_EQ(expected, static_cast<StepId>(program.steps.size()));
    }
  }
}

TEST(StageRows, InputsStandAboveTheirFirstReader) {
  const std::vector<Row> rows = rows_of(program_of("megatron", 4));
  EXPECT_EQ(rows[0].kind, RowKind::Input);
  EXPECT_EQ(rows[0].title, "X");
  bool backward = false;
  int gradients = 0;
  for (const Row& row : rows) {
    backward = backward || row.kind == RowKind::Divider;
    if (row.kind != RowKind::Input || row.title != "dY") continue;
    EXPECT_TRUE(backward);
    ++gradients;
  }
  EXPECT_EQ(gradients, 1);
}

TEST(StageRows, BandsAreTheCollectivesAndLinesWhatSendsNothing) {
  for (const std::string split : {"megatron", "reversed"}) {
    const Program program = program_of(split, 4);
    for (const Row& row : rows_of(program)) {
      if (row.step < 0) continue;
      const Op op = program.step(row.step).op;
      EXPECT_EQ(row.kind == RowKind::Band, is_collective(op)) << row.title;
      EXPECT_EQ(row.kind == RowKind::Line, op == Op::Identity || op == Op::Slice) << row.title;
    }
  }
}

TEST(StageRows, SayHowAProductIsCut) {
  const auto notes = [](const std::string& split) {
    std::vector<std::string> found;
    const Program program = program_of(split, 4);
    for (const Step& step : program.steps) {
      if (step.op == Op::Linear) found.push_back(note_of(program, step));
    }
    return found;
  };
  EXPECT_EQ(notes("megatron"),
            (std::vector<std::string>{"column-parallel", "row-parallel", "column-parallel", "row-parallel"}));
  EXPECT_EQ(notes("reversed"),
            (std::vector<std::string>{"row-parallel", "column-parallel", "row-parallel", "column-parallel"}));
  EXPECT_EQ(notes("replicated"), (std::vector<std::string>(4, "same on every rank")));
}

TEST(StageRows, ProductsShowTheirWeightAndBiasRowsTheirBias) {
  const Program program = program_of("megatron", 4);
  for (const Row& row : rows_of(program)) {
    if (row.step < 0) continue;
    const Step& step = program.step(row.step);
    if (step.op == Op::Linear || step.op == Op::LinearGradInput) {
      ASSERT_NE(row.matrix, kNoTensor) << row.title;
      EXPECT_GE(program.tensor(row.matrix).shape.size(), 2u);
    }
    if (step.op == Op::BiasAdd) {
      EXPECT_NE(row.vector, kNoTensor);
      EXPECT_EQ(row.matrix, kNoTensor);
    }
    EXPECT_EQ(row.kind == RowKind::Compact, step.op == Op::LinearGradWeight || step.op == Op::BiasGrad)
        << row.title;
  }
}

TEST(StageRows, AFusedStepIsTitledByWhatIsDrawnOfIt) {
  Settings settings = program_of("megatron", 2).settings;
  settings.fusion = Fusion::On;
  const Program program = plan_program(settings);
  std::vector<std::string> norm, gelu;
  for (const Row& row : rows_of(program)) {
    if (row.step < 0) continue;
    const Step& step = program.step(row.step);
    if (step.name == "ln2") norm = {row.title, row.note};
    if (step.op == Op::GeluGrad) gelu = {row.title};
  }
  EXPECT_THAT(norm, ::testing::ElementsAre("N = LayerNorm(R)", "R = X + O + b"));
  EXPECT_THAT(gelu, ::testing::ElementsAre("dH = dG ∘ GeLU'(H)"));
  // On GPUs products are one step with GeLU too, and with its gradient.
  settings.backend = BackendChoice::Cuda;
  settings.tf32 = true;
  const Program on_gpus = plan_program(settings);
  std::vector<std::string> products;
  for (const Row& row : rows_of(on_gpus))
    if (row.step >= 0 && on_gpus.step(row.step).equation.find("GeLU") != std::string::npos)
      products.push_back(row.title);
  EXPECT_THAT(products, ::testing::ElementsAre("G = GeLU(H)", "dH = dG ∘ GeLU'(H)"));
}

TEST(StageStack, RowsFollowEachOtherWithoutOverlap) {
  const std::vector<Row> rows = rows_of(program_of("megatron", 4));
  for (const float zoom : {0.3f, 1.0f, 7.0f}) {
    const Stack stack = stack_rows(rows, zoom, 1.5f);
    for (size_t i = 1; i < rows.size(); ++i) EXPECT_GT(stack.top[i], stack.top[i - 1] + stack.height[i - 1]);
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(stack.at(stack.top[i]), i);
      EXPECT_EQ(stack.at(stack.top[i] + stack.height[i] * 0.99f), i);
    }
    EXPECT_EQ(stack.at(-5), 0u);
    EXPECT_EQ(stack.at(stack.total + 100), rows.size() - 1);
  }
}

TEST(StageStack, ZoomStretchesTensorsButNotWords) {
  EXPECT_FLOAT_EQ(row_height(RowKind::Tensor, 10), 10 * kTensorRow);
  EXPECT_FLOAT_EQ(row_height(RowKind::Band, 10), row_height(RowKind::Band, 1));
  EXPECT_LT(row_height(RowKind::Band, 0.5f), row_height(RowKind::Band, 1));
}

TEST(StageStack, FittingShowsAllRows) {
  const std::vector<Row> rows = rows_of(program_of("megatron", 4));
  const float zoom = fitting_zoom(rows, 800, 1, 0.1f);
  EXPECT_LE(stack_rows(rows, zoom, 1).total, 800);
  EXPECT_GT(stack_rows(rows, zoom, 1).total, 790);
  EXPECT_FLOAT_EQ(fitting_zoom(rows, 1e6f, 1, 0.1f), 1) << "fitting never enlarges";
  EXPECT_FLOAT_EQ(fitting_zoom(rows, 1, 1, 0.1f), 0.1f);
}

}  // namespace rows_test
}  // namespace shardlens::ui::stage
