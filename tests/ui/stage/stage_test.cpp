// The Stage with a simulated mouse: what a click selects, what a drag and the wheel move, and that the Stage
// is empty in no state of the session.
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <cmath>

#include "engine/lesson/lesson_session.h"
#include "engine/planner/planner.h"
#include "engine/runtime/recordings/history_reader.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/session/comparison.h"
#include "engine/runtime/session/machine_watch.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "engine/train/experiments/diff_session.h"
#include "engine/train/train_snapshot.h"
#include "ui/outbox.h"
#include "ui/panels/panels.h"
#include "ui/platform/platform.h"
#include "ui/stage/motion.h"
#include "ui/stage/scene.h"
#include "ui/stage/stage_view.h"

namespace shardlens::ui::stage {
namespace stage_test {

constexpr PixelSize kSize{1280, 720};
constexpr float kHeader = 36;

class StageUnderTheMouse : public ::testing::Test {
 protected:
  StageUnderTheMouse() {
    Settings settings;
    settings.tp = 4;
    settings.batch = 1;
    settings.seq = 32;
    plan = std::make_shared<Plan>();
    plan->program = plan_program(settings);
    auto ran = std::make_shared<Result>();
    ran->plan = plan;
    ran->samples.resize(4);
    for (int rank = 0; rank < 4; ++rank) {
      for (const Tensor& tensor : plan->program.tensors) {
        const std::vector<float> values(static_cast<size_t>(element_count(local_shape(tensor, 4, rank))),
                                        0.5f);
        ran->samples[static_cast<size_t>(rank)].push_back(
            std::make_shared<TensorSample>(make_sample(tensor, 4, rank, values.data())));
      }
    }
    snapshot.settings = settings;
    snapshot.plan = plan;
    snapshot.result = ran;
    snapshot.state = RunState::Done;
    snapshot.position = plan->program.steps.size();
    apply(theme(ThemeName::Dark), 1);
  }

  Image frame() {
    platform->begin_frame();
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({kSize.width, kSize.height});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::Begin("stage", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove);
    ImGui::PopStyleVar();
    draw_stage(context);
    ImGui::End();
    view.scroll_to_selection = false;
    platform->render();
    Image image = platform->read_pixels();
    platform->present();
    heatmaps.end_frame();
    return image;
  }
  void frames(int count) {
    for (int i = 0; i < count; ++i) frame();
  }
  static ImGuiWindow* rows_window() {
    for (ImGuiWindow* window : ImGui::GetCurrentContext()->Windows) {
      if (std::string(window->Name).find("##stage_rows") != std::string::npos) return window;
    }
    return nullptr;
  }
  ImVec2 scroll() const { return rows_window()->Scroll; }

  /// The scene as the last frame drew it.
  Scene scene() {
    const float bar = ImGui::GetStyle().ScrollbarSize;
    return make_scene(context, plan, snapshot.result, false,
                      {{0, kHeader}, {kSize.width - bar, static_cast<float>(kSize.height)}}, scroll());
  }
  size_t row_of(StepId step) {
    const Scene now = scene();
    for (size_t row = 0; row < now.rows.size(); ++row) {
      if (now.rows[row].step == step) return row;
    }
    throw std::logic_error("no row");
  }
  StepId first(Op op) const {
    for (const Step& step : plan->program.steps) {
      if (step.op == op) return step.id;
    }
    throw std::logic_error("no step");
  }

  void click(ImVec2 at) {
    ImGuiIO& io = ImGui::GetIO();
    io.AddMousePosEvent(at.x, at.y);
    frames(2);
    io.AddMouseButtonEvent(0, true);
    frame();
    io.AddMouseButtonEvent(0, false);
    frames(2);
  }
  void show(StepId step) {
    view.selected_step = step;
    view.selected_tensor = plan->program.step(step).outputs[0];
    view.scroll_to_selection = true;
    frames(3);
    view.selected_step = -1;
    view.selected_tensor = kNoTensor;
    view.selected_rank = -1;
  }
  static ImVec2 middle(const Rect& rect) {
    return {(rect.min.x + rect.max.x) / 2, (rect.min.y + rect.max.y) / 2};
  }

  std::unique_ptr<Platform> platform = make_offscreen_platform(kSize);
  std::shared_ptr<Plan> plan;
  Snapshot snapshot;
  ViewState view;
  Heatmaps heatmaps;
  TrainSnapshot train;
  BreakSnapshot breaks;
  const ScalingSnapshot scaling;
  const ComparisonSnapshot comparison;
  const DiffSnapshot diff;
  const ReplaySnapshot replay;
  const BeingRecorded recorded;
  const HistorySnapshot history;
  const LessonSnapshot lesson;
  const MachineFacts machine;
  Outbox outbox;
  Context context{{recorded, train, breaks, scaling, comparison, diff, replay, history, lesson, machine},
                  snapshot,
                  nullptr,
                  view,
                  theme(ThemeName::Dark),
                  platform->fonts(),
                  heatmaps,
                  outbox};
};

TEST_F(StageUnderTheMouse, ATensorIsSelectedWithItsRank) {
  const StepId product = first(Op::Linear);
  frames(2);
  show(product);
  const Scene now = scene();
  click(middle(now.tensor_room(now.cell(row_of(product), now.lanes[2]))));
  EXPECT_EQ(view.selected_step, product);
  EXPECT_EQ(view.selected_tensor, plan->program.step(product).outputs[0]);
  EXPECT_EQ(view.selected_rank, 2);
}

TEST_F(StageUnderTheMouse, AWeightIsSelectedAsATensorOfItsProduct) {
  const StepId product = first(Op::Linear);
  frames(2);
  show(product);
  const Scene now = scene();
  click(middle(now.weight_room(now.cell(row_of(product), now.lanes[1]))));
  EXPECT_EQ(view.selected_step, product);
  EXPECT_EQ(view.selected_tensor, plan->program.step(product).inputs[1]);
  EXPECT_EQ(view.selected_rank, 1);
}

TEST_F(StageUnderTheMouse, TheGutterAndTheBandsSelectTheStep) {
  frames(2);
  for (const StepId step : {first(Op::Linear), first(Op::AllReduce), first(Op::Identity)}) {
    show(step);
    const Rect row = scene().row_rect(row_of(step));
    click({row.min.x + 40, (row.min.y + row.max.y) / 2});
    EXPECT_EQ(view.selected_step, step);
    EXPECT_EQ(view.selected_rank, -1);
  }
}

TEST_F(StageUnderTheMouse, ALanesHeadSelectsItsRankAndTakesItBack) {
  frames(2);
  const Scene now = scene();
  const Rect heads{{0, 0}, {now.view.max.x, kHeader}};
  const auto head = lane_head(now, now.lanes[2], heads);
  ASSERT_TRUE(head);
  click(middle(*head));
  EXPECT_EQ(view.selected_rank, 2);
  EXPECT_EQ(view.selected_step, -1) << "no step is selected by it";
  click(middle(*head));
  EXPECT_EQ(view.selected_rank, -1);
}

TEST_F(StageUnderTheMouse, ASelectionOutOfSightComesIntoView) {
  frames(2);
  const StepId last = static_cast<StepId>(plan->program.steps.size()) - 1;
  const size_t row = row_of(last);
  EXPECT_GT(scene().row_top(row), kSize.height);
  show(last);
  EXPECT_LT(scene().row_top(row), kSize.height);
  EXPECT_GT(scene().row_top(row), kHeader);
}

TEST_F(StageUnderTheMouse, DraggingMovesThePaperAndSelectsNothing) {
  frames(2);
  const Scene now = scene();
  const ImVec2 from = middle(now.tensor_room(now.cell(row_of(first(Op::Linear)), now.lanes[1])));
  ImGuiIO& io = ImGui::GetIO();
  io.AddMousePosEvent(from.x, from.y);
  frames(2);
  io.AddMouseButtonEvent(0, true);
  frame();
  for (int i = 1; i <= 10; ++i) {
    io.AddMousePosEvent(from.x, from.y - 10.0f * static_cast<float>(i));
    frame();
  }
  frames(2);  // the tensor that was taken hold of is under the mouse again
  io.AddMouseButtonEvent(0, false);
  frames(2);
  EXPECT_NEAR(scroll().y, 100, 12);
  EXPECT_EQ(view.selected_step, -1);
}

TEST_F(StageUnderTheMouse, CtrlAndWheelZoomAboutTheMouse) {
  frames(2);
  const StepId product = first(Op::Linear);
  const size_t row = row_of(product);
  const Scene before = scene();
  const Rect piece = before.cell(row, before.lanes[1]);
  const ImVec2 at(piece.min.x + piece.width() * 0.6f, piece.min.y + piece.height() * 0.3f);
  ImGuiIO& io = ImGui::GetIO();
  io.AddMousePosEvent(at.x, at.y);
  frames(2);
  io.AddKeyEvent(ImGuiMod_Ctrl, true);
  for (int i = 0; i < 8; ++i) {
    io.AddMouseWheelEvent(0, 1);
    frames(2);
  }
  io.AddKeyEvent(ImGuiMod_Ctrl, false);
  frames(2);
  EXPECT_GT(view.stage_zoom, 4);
  const Scene after = scene();
  const Rect zoomed = after.cell(row, after.lanes[1]);
  EXPECT_NEAR((at.y - zoomed.min.y) / zoomed.height(), 0.3f, 0.03f) << "another row came under the mouse";
  EXPECT_NEAR((at.x - zoomed.min.x) / zoomed.width(), 0.6f, 0.03f) << "another lane came under the mouse";
}

TEST_F(StageUnderTheMouse, FittingBringsEveryRowIntoView) {
  frames(2);
  view.of<StageView>().fitted = true;
  frames(3);
  const Scene now = scene();
  EXPECT_LE(now.row_top(now.rows.size() - 1) + now.stack.height.back(), kSize.height);
}

/// Pixels of `image` that are not the window's ground.
int inked(const Image& image) {
  const ImU32 ground = theme(ThemeName::Dark).window;
  int count = 0;
  for (int y = 0; y < image.size.height; ++y) {
    for (int x = 0; x < image.size.width; ++x) {
      const std::uint8_t* p = image.pixel(x, y);
      count += IM_COL32(p[0], p[1], p[2], 255) != ground ? 1 : 0;
    }
  }
  return count;
}

TEST_F(StageUnderTheMouse, NoStateIsAnEmptyPanel) {
  snapshot.plan = nullptr;
  snapshot.result = nullptr;
  for (const RunState state :
       {RunState::Planning, RunState::Refused, RunState::Failed, RunState::Cancelled}) {
    snapshot.state = state;
    snapshot.message = state == RunState::Planning ? "" : "12 heads cannot be shared by 5 ranks. Try 4 or 6.";
    frame();
    EXPECT_GT(inked(frame()), 100) << to_string(state);
  }
}

TEST_F(StageUnderTheMouse, WhatHasNotRunShowsNoValues) {
  frames(2);
  EXPECT_GT(heatmaps.pictures(), 0u);
  const auto drawn = [&] {
    frames(130);  // long enough to forget what is no longer drawn
    return heatmaps.pictures();
  };
  const size_t all = drawn();
  snapshot.position = 0;
  const size_t before_the_first_step = drawn();
  EXPECT_LT(before_the_first_step, all);
  snapshot.result = nullptr;
  EXPECT_EQ(drawn(), 0u);
}

bool is_same(const Rect& a, const Rect& b) {
  return a.min.x == b.min.x && a.min.y == b.min.y && a.max.x == b.max.x && a.max.y == b.max.y;
}

TEST_F(StageUnderTheMouse, TermsMoveToTheMiddleAndTheirSumToEveryRank) {
  const StepId step = first(Op::AllReduce);
  show(step);
  const Scene now = scene();
  const std::vector<Move> moves = moves_to(now, step);
  ASSERT_EQ(moves.size(), 8u) << "four terms come, four copies of the sum go";
  const Step& all_reduce = plan->program.step(step);
  const Rect middle = moves[0].to;
  for (const Move& move : moves) {
    const Rect lane = now.cell(row_of(step), now.lanes[static_cast<size_t>(move.rank)]);
    const bool is_term = move.end == 0.5f;
    EXPECT_EQ(move.tensor, is_term ? all_reduce.inputs[0] : all_reduce.outputs[0]);
    EXPECT_EQ(move.begin, is_term ? 0 : 0.5f) << "no rank has the sum before all terms are there";
    EXPECT_TRUE(is_same(is_term ? move.to : move.from, middle));
    const Rect& at_rank = is_term ? move.from : move.to;
    EXPECT_GE(at_rank.min.x, lane.min.x);
    EXPECT_LE(at_rank.max.x, lane.max.x);
  }
  EXPECT_TRUE(is_same(place_of(moves[0], 0), moves[0].from));
  EXPECT_TRUE(is_same(place_of(moves[0], 0.5f), moves[0].to));
}

TEST_F(StageUnderTheMouse, WhatAStepReadsMovesInItsLane) {
  const StepId step = first(Op::Linear);
  show(step);
  const Scene now = scene();
  const std::vector<Move> moves = moves_to(now, step);
  ASSERT_EQ(moves.size(), 4u) << "one activation on each rank; the weight stands there already";
  for (const Move& move : moves) {
    const Rect lane = now.cell(row_of(step), now.lanes[static_cast<size_t>(move.rank)]);
    for (const Rect& place : {move.from, move.to}) {
      EXPECT_GE(place.min.x, lane.min.x);
      EXPECT_LE(place.max.x, lane.max.x);
    }
    EXPECT_LT(move.from.max.y, move.to.min.y) << "downwards";
  }
}

TEST_F(StageUnderTheMouse, PiecesMoveOnlyToALaterStepAndThenAllIsStill) {
  const StepId step = first(Op::AllReduce);
  const auto at = [&](StepId selected) {
    select_step(view, plan->program, selected);
    return frame().rgba;
  };
  show(step);
  at(step);
  const auto still = at(step);
  at(step - 1);
  at(step);
  EXPECT_TRUE(at(step) != still) << "it moves";
  frames(60);
  EXPECT_TRUE(at(step) == still) << "it is still after a second";
  at(step + 1);
  frames(60);
  EXPECT_TRUE(at(step) == still) << "backwards nothing moves";
  view.of<MotionView>().on = false;
  at(step - 1);
  EXPECT_TRUE(at(step) == still) << "switched off";
}

}  // namespace stage_test
}  // namespace shardlens::ui::stage
