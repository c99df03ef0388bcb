// Programs from the planner pass the check, also with a planted fault; a Program that could harm its reader
// is refused.
#include "engine/program/check_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/planner/planner.h"
#include "engine/program/fault.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace check_program_test {

using ::testing::HasSubstr;

std::string refusal(const Program& program) {
  try {
    check_program(program, "it");
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    return error.what();
  }
}

TEST(Sound, EveryProgramOfThePlannerIs) {
  for (const std::string& split : split_names()) {
    EXPECT_EQ(refusal(plan_program(testing::small_model(2, 2, split))), "") << split;
    EXPECT_EQ(refusal(plan_program(testing::small_bert(2, 1, split))), "") << split;
    Settings layer = testing::small_model(2, 1, split);
    layer.block = Block::Layer;
    layer.heads_policy = HeadsPolicy::Strict;
    layer.model.heads = 4;
    layer.update = false;
    EXPECT_EQ(refusal(plan_program(layer)), "") << split;
    EXPECT_EQ(refusal(plan_serial(layer)), "") << split;
  }
  EXPECT_EQ(refusal(plan_evaluation(testing::small_model(2))), "");
  Settings generation = testing::small_model(2);
  generation.update = false;
  generation.batch = generation.seq = 1;
  generation.cache_tokens = 16;
  EXPECT_EQ(refusal(plan_program(generation)), "");
  Settings recomputed = testing::small_model(2);
  recomputed.recompute = Recompute::Selective;
  EXPECT_EQ(refusal(plan_program(recomputed)), "");
}

TEST(Sound, SoIsOneWithAPlantedMistake) {
  int planted = 0;
  for (const Fault fault : all_faults()) {
    for (const std::string& split : split_names()) {
      Program program = plan_program(testing::small_model(2, 1, split));
      try {
        program = plant(std::move(program), fault);
      } catch (const Error&) {
        continue;
      }
      ++planted;
      EXPECT_EQ(refusal(program), "") << to_string(fault) << " in " << split;
    }
  }
  EXPECT_GT(planted, 12);
}

TEST(Sound, WhatWouldHarmAReaderIsNot) {
  const Program sound = plan_program(testing::small_model(2));
  const auto with = [&](const auto& harm) {
    Program program = sound;
    harm(program);
    return refusal(program);
  };
  const auto first = [](Program& program, Op op) -> Step& {
    for (Step& step : program.steps)
      if (step.op == op) return step;
    throw std::logic_error("no such step");
  };
  EXPECT_THAT(with([&](Program& p) { first(p, Op::Linear).inputs.clear(); }), HasSubstr("reads 0 tensors"));
  EXPECT_THAT(with([&](Program& p) { first(p, Op::AttentionGrad).inputs.resize(2); }),
              HasSubstr("reads 2 tensors"));
  EXPECT_THAT(with([&](Program& p) { first(p, Op::Attention).attributes.batch = 0; }),
              HasSubstr("a batch of 0"));
  EXPECT_THAT(with([](Program& p) { p.tensors[3].shape.clear(); }), HasSubstr("at most 1e15 elements"));
  EXPECT_THAT(with([](Program& p) { p.tensors[3].shape = {0, 4}; }), HasSubstr("at most 1e15 elements"));
  EXPECT_THAT(with([](Program& p) {
                p.tensors[3].shape = {int64_t{1} << 40, int64_t{1} << 40};
              }),
              HasSubstr("at most 1e15 elements"));
  EXPECT_THAT(with([](Program& p) { p.steps[5].layer = 2'000'000'000; }), HasSubstr("belongs to layer"));
  EXPECT_THAT(with([](Program& p) { p.settings.batch = -4; }), HasSubstr("batch"));
  EXPECT_THAT(with([&](Program& p) {
                Step& identity = first(p, Op::Identity);
                identity.inputs = identity.outputs;  // whoever follows it never arrives
              }),
              HasSubstr("an identity in the wrong place"));
  EXPECT_THAT(with([](Program& p) { p.tensors.resize(2'000'001, p.tensors.front()); }),
              HasSubstr("on 2 ranks there may be at most 500,000 steps"));
  EXPECT_THAT(with([](Program& p) { p.steps.resize(500'001, p.steps.front()); }), HasSubstr("are too many"));
  // So large a Program is planned, so it is read too.
  EXPECT_EQ(with([](Program& p) { p.tensors.resize(1'000'000, p.tensors.front()); }), "");
}

}  // namespace check_program_test
}  // namespace shardlens
