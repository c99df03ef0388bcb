// Choices for a training become settings that can be trained.
#include "ui/panels/train/train_choices.h"

#include <gtest/gtest.h>

#include "engine/config/presets.h"
#include "engine/config/validate.h"
#include "engine/train/train_snapshot.h"

namespace shardlens::ui {
namespace train_choices_test {

TEST(TrainChoices, AComparisonOfAnotherFamilyIsTaughtAsThatFamilyNeedsIt) {
  const TrainChoices gpt = comparison_choices(), bert = compared_with_model(gpt, "bert-deep-tiny");
  EXPECT_EQ(bert, comparison_choices(Objective::MaskedWords));
  EXPECT_EQ(compared_with_model(bert, gpt.model), gpt);
  const TrainChoices wide = compared_with_model(gpt, "bert-tiny");
  EXPECT_EQ(wide.layers, model_preset("bert-tiny").layers);
  EXPECT_EQ(wide.batch, bert.batch);
  TrainChoices longer = gpt;
  longer.steps = 5000;
  EXPECT_EQ(compared_with_model(longer, "gpt2-10m").steps, 5000) << "the same family: nothing else changes";
}

TEST(TrainChoices, BothComparisonsCanBeTrained) {
  for (const Objective family : {Objective::NextToken, Objective::MaskedWords}) {
    const train_command::Start start = comparison_of(comparison_choices(family));
    ASSERT_EQ(start.models.size(), 2u);
    for (const train_command::Model& model : start.models) {
      EXPECT_NO_THROW(validate(model.options.settings));
      EXPECT_EQ(model.options.settings.model.objective, family);
    }
    EXPECT_NE(start.models[0].options.settings.model.norm, start.models[1].options.settings.model.norm);
  }
}

}  // namespace train_choices_test
}  // namespace shardlens::ui
