// The Stage draws the mask of a dropout: every number that it set to zero is a dark cell, on every rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "engine/config/presets.h"
#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/plan/sections.h"
#include "ui/theme/colour_scale.h"

namespace shardlens::ui {
namespace mask_test {

Settings with_dropout(double dropout) {
  Settings settings;
  settings.model = model_preset("gpt2-tiny");
  settings.model.hidden = 16;
  settings.model.ffn = 64;
  settings.block = Block::Model;
  settings.tp = 2;
  settings.batch = 1;
  settings.seq = 12;
  settings.dropout = dropout;
  return settings;
}

/// Shows the step that begins with these words in its layer.
const Step& show_step(StudioHarness& harness, const std::string& name) {
  const auto plan = harness.snapshot().plan;
  const auto step = std::find_if(plan->program.steps.begin(), plan->program.steps.end(),
                                 [&](const Step& one) { return one.name == name; });
  EXPECT_NE(step, plan->program.steps.end()) << name;
  harness.view().open_section = sections_of(plan).of_step[static_cast<size_t>(step->id)];
  harness.draw_frames(4);
  harness.go_to_step(step->id);
  return *step;
}

/// Small rectangles in the darkest colour.
int dark_cells(StudioHarness& harness) {
  const ImU32 dark = legible_on(theme(ThemeName::Dark), colour_of(0, {ColourMap::Signed, 1}));
  int count = 0;
  for (const TapeMark& mark : marks_on_screen(harness))
    if (const auto* fill = std::get_if<mark::Fill>(&mark.what))
      count += fill->colour == dark && fill->max.x - fill->min.x < 40;
  return count;
}

TEST(Mask, EveryZeroOfADropoutIsADarkCell) {
  StudioHarness sound({1920, 1080}, with_dropout(0));
  sound.wait_until_at_rest();
  show_step(sound, "h.0.mlp.fc");
  const int others = dark_cells(sound);
  EXPECT_LT(others, 10);
  for (const double dropout : {0.2, 0.5}) {
    StudioHarness harness({1920, 1080}, with_dropout(dropout));
    harness.wait_until_at_rest();
    const Step& step = show_step(harness, "h.0.mlp.dropped");
    int zeros = 0;
    for (int rank = 0; rank < 2; ++rank) {
      const auto& sample =
          harness.snapshot().result->samples[static_cast<size_t>(rank)][static_cast<size_t>(step.outputs[0])];
      ASSERT_TRUE(sample->has_exact());
      for (int64_t row = 0; row < sample->matrix.rows; ++row)
        for (int64_t col = 0; col < sample->matrix.cols; ++col) zeros += sample->value(row, col) == 0;
    }
    EXPECT_GT(zeros, 0);
    EXPECT_GE(dark_cells(harness) - others, zeros) << dropout;
  }
}

}  // namespace mask_test
}  // namespace shardlens::ui
