// Every fault states what it needs. If the settings do not have it, settings are offered in which the fault
// can be planted.
#include "engine/planner/break_settings.h"

#include <gmock/gmock.h>

#include "engine/base/error.h"
#include "engine/planner/planner.h"
#include "engine/program/program_json.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace break_settings_test {

using ::testing::HasSubstr;
using testing::small_layer;
using testing::small_model;

std::string refusal(const Settings& settings, Fault fault) {
  try {
    plan_broken(with_update(settings), fault);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    return error.what();
  }
  return {};
}

TEST(BreakSettings, EveryFaultIsPossibleSomewhereNearAndThenIsPlanted) {
  Settings mlp = small_layer(2);
  mlp.block = Block::Mlp;
  Settings one_rank_bert = testing::small_bert(1, 2);
  const std::vector<Settings> starts{small_layer(1),
                                     small_layer(4, "replicated"),
                                     mlp,
                                     small_layer(3, "column-column"),
                                     small_model(1),
                                     small_model(3),
                                     small_model(2, 2, "megatron-sp"),
                                     small_model(4, 1, "replicated"),
                                     one_rank_bert};
  for (const Settings& start : starts) {
    for (const Fault fault : all_faults()) {
      const auto near = break_settings(start, fault);
      ASSERT_TRUE(near) << to_string(fault) << " from T = " << start.tp << ", " << start.split.name;
      Settings plain = with_update(near->settings);
      plain.fusion = Fusion::Off;
      EXPECT_NE(plan_broken(plain, fault), plan_program(plain)) << to_string(fault);
      EXPECT_EQ(near->words.empty(), has_opportunity(start, fault)) << to_string(fault);
      EXPECT_EQ(near->words.empty(), near->options.empty());
      EXPECT_EQ(near->words.empty(), refusal(start, fault).empty()) << to_string(fault);
    }
  }
}

TEST(BreakSettings, SaysWhatIsMissing) {
  EXPECT_EQ(break_settings(small_model(3), Fault::GeluOnPartial)->options, "--split reversed");
  EXPECT_EQ(break_settings(small_model(3), Fault::OwnDropoutStreams)->words, "dropout 0.1");
  EXPECT_EQ(break_settings(small_model(1), Fault::SkipG)->options, "--tp 2");
  EXPECT_EQ(break_settings(small_model(3), Fault::QkvAcrossHeads)->words, "T = 5") << "5 heads";
  EXPECT_THAT(break_settings(small_layer(2), Fault::LocalStatistics)->options, HasSubstr("parallel"));
  EXPECT_THAT(break_settings(small_layer(2), Fault::ClipInflated)->words, HasSubstr("whole model"));
}

TEST(BreakSettings, AFaultWithoutAnOpportunityNamesTheRemedy) {
  EXPECT_THAT(refusal(small_layer(2), Fault::GeluOnPartial), HasSubstr("--split reversed"));
  EXPECT_THAT(refusal(small_layer(2), Fault::LocalStatistics), HasSubstr("\"norm\": \"parallel\""));
  EXPECT_THAT(refusal(small_model(2), Fault::OneDropoutStream), HasSubstr("--dropout 0.1"));
  EXPECT_THAT(refusal(small_model(2), Fault::OwnDropoutStreams), HasSubstr("--dropout 0.1"));
  Settings one_rank = small_model(1);
  one_rank.dropout = 0.1;
  for (const Fault fault : {Fault::OneDropoutStream, Fault::OwnDropoutStreams})
    EXPECT_THAT(refusal(one_rank, fault), HasSubstr("--tp of at least 2"));
}

TEST(BreakSettings, SaysWhereInTheLayerAFaultSits) {
  const auto step_of = [](const Settings& settings, Fault fault) {
    const auto place = place_of(settings, fault);
    return place ? place->program->step(place->step) : Step{};
  };
  const Step f = step_of(small_layer(2), Fault::SkipF);
  EXPECT_EQ(f.conjugate, Conjugate::F);
  EXPECT_EQ(f.phase, Phase::Backward);
  EXPECT_EQ(step_of(small_layer(2, "reversed"), Fault::GeluOnPartial).op, Op::Gelu);
  EXPECT_EQ(step_of(small_layer(2), Fault::BiasBeforeReduction).op, Op::BiasAdd);
  const auto whole_heads = break_settings(small_layer(2), Fault::QkvAcrossHeads);
  EXPECT_EQ(step_of(whole_heads->settings, Fault::QkvAcrossHeads).name, "attn.qkv");
  EXPECT_FALSE(place_of(small_layer(2), Fault::GeluOnPartial));
  for (const Fault fault : all_faults()) {
    const auto near = break_settings(small_model(2), fault);
    ASSERT_TRUE(near);
    const auto place = place_of(near->settings, fault);
    ASSERT_TRUE(place) << to_string(fault);
    EXPECT_GE(place->step, 0) << to_string(fault);
  }
}

TEST(BreakSettings, APlantedProgramSurvivesJsonAndOlderFilesOpen) {
  const Program broken = plan_broken(small_layer(2, "reversed"), Fault::GeluOnPartial);
  auto json = program_to_json(broken);
  EXPECT_EQ(program_from_json(nlohmann::json::parse(json.dump()), "test"), broken);
  Program sound = plan_program(small_layer(2));
  json = program_to_json(sound);
  for (auto& step : json["steps"]) step["attributes"].erase("one_rank");  // as files before it have none
  EXPECT_EQ(program_from_json(nlohmann::json::parse(json.dump()), "test"), sound);
}

TEST(BreakSettings, AnUntiedModelHasNoTiedGradientToLose) {
  Settings untied = small_model(2);
  untied.model.tied = false;
  EXPECT_FALSE(break_settings(untied, Fault::TiedGradientLost));
}

}  // namespace break_settings_test
}  // namespace shardlens
