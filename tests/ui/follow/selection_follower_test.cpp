// A selection belongs to a plan. Panels that draw the newest plan, and others that draw an older result, have
// one selection.
#include "ui/follow/selection_follower.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "engine/config/splits.h"
#include "engine/runtime/plan.h"
#include "tests/engine/small_model.h"
#include "ui/plan/sections.h"

namespace shardlens::ui {
namespace selection_follower_test {

std::shared_ptr<const Plan> model_with(int64_t layers, const char* split = "megatron") {
  Settings settings = testing::small_model(2);
  settings.model.layers = layers;
  settings.split = named_split(split);
  return make_plan(settings);
}

StepId last_step(const Plan& plan) {
  return static_cast<StepId>(plan.program.steps.size()) - 1;
}

class TwoPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_GT(last_step(*newer_), last_step(*older_)) << "its ids do not fit the older one";
    follower_.follow(older_, view_);
  }

  const std::shared_ptr<const Plan> older_ = model_with(2), newer_ = model_with(4, "reversed");
  ViewState view_;
  SelectionFollower follower_;
};

// Program, Traffic and Memory draw the newest plan while the Stage draws the result of an older one.
TEST_F(TwoPlans, AStepOfTheNewestIsSelectedThereWhenItIsShown) {
  const StepId clicked = last_step(*newer_);
  select_step(view_, newer_->program, clicked);
  EXPECT_LE(view_.selected_step, last_step(*older_)) << "Stage and Inspector read it";
  follower_.follow(older_, view_);
  EXPECT_EQ(selection_in(view_, newer_->program).step, clicked);
  follower_.follow(newer_, view_);
  EXPECT_EQ(view_.selected_step, clicked);
}

TEST_F(TwoPlans, EveryStepOfOneIsFoundInTheOtherByItsName) {
  for (const Step& step : newer_->program.steps) {
    select_step(view_, newer_->program, step.id);
    if (view_.selected_step < 0) continue;
    const Step& found = older_->program.step(view_.selected_step);
    EXPECT_EQ(found.name, step.name);
    EXPECT_EQ(found.layer, step.layer);
    EXPECT_EQ(selection_in(view_, newer_->program).step, step.id);
  }
  for (const Step& step : older_->program.steps) {
    select_step(view_, older_->program, step.id);
    const StepId there = selection_in(view_, newer_->program).step;
    EXPECT_LE(there, last_step(*newer_));
    if (there >= 0) {
      EXPECT_EQ(newer_->program.step(there).name, step.name);
    }
  }
}

TEST_F(TwoPlans, AClickOnTheStageIsLaterThanOneInTheNewestPlan) {
  select_step(view_, newer_->program, last_step(*newer_));
  select_step(view_, older_->program, 1);
  follower_.follow(newer_, view_);
  EXPECT_EQ(newer_->program.step(view_.selected_step).name, older_->program.step(1).name);
}

TEST_F(TwoPlans, AnInspectedTensorStays) {
  const Step& step = older_->program.step(view_.selected_step);
  ASSERT_FALSE(step.inputs.empty());
  set_selection(view_, older_->program, {step.id, step.inputs.front()});
  const std::string name = older_->program.tensor(step.inputs.front()).name;
  follower_.follow(newer_, view_);
  EXPECT_EQ(newer_->program.tensor(view_.selected_tensor).name, name);
}

// The part with the number 5 of a deeper model is not there in a smaller one, nor in a layer.
TEST_F(TwoPlans, AnOpenPartIsOneOfThePlan) {
  follower_.follow(newer_, view_);
  view_.open_section = static_cast<int>(sections_of(newer_).list.size()) - 1;
  const std::string title = sections_of(newer_).list.back().title;
  follower_.follow(older_, view_);
  ASSERT_NE(view_.open_section, kWholeModel);
  EXPECT_EQ(sections_of(older_).list[static_cast<size_t>(view_.open_section)].title, title);
  Settings layer = testing::small_model(2);
  layer.block = Block::Layer;
  follower_.follow(make_plan(layer), view_);
  EXPECT_EQ(view_.open_section, kWholeModel);
}

TEST_F(TwoPlans, WhatIsOutOfPlaceIsTakenBackBeforeThePanelsAreDrawn) {
  view_.selected_step = last_step(*older_) + 1;
  view_.selected_tensor = static_cast<TensorId>(older_->program.tensors.size());
  follower_.follow(older_, view_);
  EXPECT_EQ(view_.selected_step, -1);
  EXPECT_EQ(view_.selected_tensor, kNoTensor);
}

TEST(Program, AnIdOfAnotherOneIsRefusedByBothNumbers) {
  const std::shared_ptr<const Plan> plan = model_with(2);
  try {
    plan->program.step(100'000);
    FAIL() << "it was read";
  } catch (const std::out_of_range& error) {
    EXPECT_NE(std::string(error.what()).find("there is no step 100000 in a Program with"), std::string::npos);
  }
  EXPECT_THROW(plan->program.step(-1), std::out_of_range);
  EXPECT_THROW(plan->program.tensor(kNoTensor), std::out_of_range);
}

}  // namespace selection_follower_test
}  // namespace shardlens::ui
