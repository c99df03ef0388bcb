// Every step of a whole model is in exactly one part, and the parts are those that a user expects.
#include "ui/plan/sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/config/presets.h"
#include "engine/planner/planner.h"
#include "engine/program/overlap_waits.h"
#include "engine/runtime/snapshot.h"
#include "ui/stage/rows.h"
#include "ui/stage/strip.h"

namespace shardlens::ui {
namespace sections_test {

using ::testing::ElementsAre;

Settings tiny(const char* preset = "gpt2-tiny") {
  Settings settings;
  settings.model = model_preset(preset);
  settings.block = Block::Model;
  settings.tp = 2;
  settings.batch = 4;
  settings.seq = 16;
  return settings;
}

std::vector<std::string> titles(const Sections& sections) {
  std::vector<std::string> list;
  for (const Section& section : sections.list) list.push_back(section.title);
  return list;
}

TEST(Sections, AWholeModelFromTheEmbeddingToTheOptimizer) {
  Settings settings = tiny("bert-tiny");
  settings.dp = 2;
  settings.update = true;
  EXPECT_THAT(
      titles(make_sections(plan_program(settings))),
      ElementsAre("embedding", "layer 0", "layer 1", "output and loss", "sum over replicas", "optimizer"));
}

TEST(Sections, EveryStepStandsInOnePartAndLayersInTheirOwn) {
  for (const int parts : {1, 2}) {
    Settings settings = tiny();
    settings.micro_batches = parts;
    settings.recompute = Recompute::Full;
    const Program program = plan_program(settings);
    const Sections sections = make_sections(program);
    size_t steps = 0;
    for (const Section& section : sections.list) {
      steps += section.steps.size();
      for (const StepId step : section.steps) EXPECT_EQ(program.step(step).layer, section.layer);
    }
    EXPECT_EQ(steps, program.steps.size());
    for (const Step& step : program.steps) {
      const Section& section = sections.of(step.id);
      for (const TensorId out : step.outputs) {
        const std::string& name = program.tensor(out).name;
        if (name == "embedding" || name == "wte.out") {
          EXPECT_EQ(section.title, "embedding") << name;
        } else if (name == "logits" || name == "loss" || name == "hidden") {
          EXPECT_EQ(section.title, "output and loss") << name;
        }
      }
    }
  }
}

TEST(Sections, ALayerIsOnePart) {
  Settings settings = tiny();
  settings.block = Block::Layer;
  settings.layer = 2;
  EXPECT_THAT(titles(make_sections(plan_program(settings))), ElementsAre("layer 2"));
}

// What layer 1's rows begin with, forward and backward; none of them is of another layer.
std::vector<std::string> inputs_of_layer_1(Fusion fusion) {
  Settings settings = tiny();
  settings.fusion = fusion;
  const Program program = plan_program(settings);
  std::vector<std::string> inputs;
  for (const stage::Row& row : stage::rows_of(program, make_sections(program), 2)) {
    if (row.kind == stage::RowKind::Input) inputs.push_back(row.title + " " + row.note);
    if (row.step >= 0) {
      EXPECT_EQ(program.step(row.step).layer, 1);
    }
  }
  return inputs;
}

TEST(Sections, AnOpenLayerShowsWhatComesIntoIt) {
  // Two gradients come from layer 2, past its residual sum and through its first norm; fused, the norm's
  // gradient holds their sum.
  EXPECT_THAT(inputs_of_layer_1(Fusion::Off),
              ElementsAre("Y from layer 0", "dR from layer 2", "dY from layer 2"));
  EXPECT_THAT(inputs_of_layer_1(Fusion::On), ElementsAre("Y from layer 0", "dY from layer 2"));
}

TEST(Strip, SharesTheStepOutAmongTheParts) {
  Plan plan;
  plan.program = plan_program(tiny());
  const Program& program = plan.program;
  const Sections sections = make_sections(program);
  Result result;
  result.timed = true;
  result.events.resize(2);
  // Every step takes a second; a sum beside the steps half a second more than they can use meanwhile.
  const std::vector<bool> behind_lane = waits_for_overlapped(program);
  double thread = 0, lane = 0, waited = 0;
  int beside = 0;
  for (const Step& step : program.steps) {
    StepEvent event;
    if (behind_lane[static_cast<size_t>(step.id)] && lane > thread) {
      waited += lane - thread;
      thread = lane;
    }
    event.begin_seconds = thread;
    const auto next_behind = std::find(behind_lane.begin() + step.id, behind_lane.end(), true);
    event.end_seconds =
        thread +
        (step.overlapped ? static_cast<double>(next_behind - behind_lane.begin() - step.id) - 0.5 : 1);
    event.arrival_seconds = event.begin_seconds;
    event.all_arrived_seconds = event.begin_seconds + 0.25;
    (step.overlapped ? lane : thread) = event.end_seconds;
    beside += step.overlapped;
    for (auto& rank : result.events) rank.push_back(event);
  }
  ASSERT_GT(beside, 0);
  ASSERT_GT(waited, 0);
  const stage::Strip strip = stage::make_strip(plan, &result, sections);
  EXPECT_EQ(strip.unit, stage::StripUnit::Measured);
  double all = 0, communication = 0;
  int collectives = 0;
  int64_t sent = 0;
  for (const stage::StripRow& row : strip.rows) {
    for (const stage::StripSide* side : {&row.forward, &row.backward}) {
      all += side->amount;
      collectives += side->collectives;
      sent += side->sent_bytes;
      communication += side->communication;
    }
  }
  EXPECT_DOUBLE_EQ(all, thread);
  EXPECT_DOUBLE_EQ(communication, collectives - beside + waited);
  const stage::StripRow& layer = strip.rows[1];
  EXPECT_EQ(layer.forward.collectives, 2);
  EXPECT_EQ(layer.backward.collectives, 2);
  int64_t planned = 0;
  for (const Step& step : program.steps) planned += sent_bytes(program, step.id);
  EXPECT_EQ(sent, planned);
}

TEST(Strip, WithoutARunLengthsAreFlops) {
  Plan plan;
  plan.program = plan_program(tiny());
  plan.cost.push_back(price(plan.program, find_hardware("this-machine"), 0));
  const stage::Strip strip = stage::make_strip(plan, nullptr, make_sections(plan.program));
  EXPECT_EQ(strip.unit, stage::StripUnit::Flops);
  EXPECT_GT(strip.rows[1].backward.amount, strip.rows[1].forward.amount);
}

}  // namespace sections_test
}  // namespace shardlens::ui
