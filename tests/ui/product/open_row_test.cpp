// A simulated user opens a row of the Stage: its matrices, one number of it, and attention's heads; with real
// clicks and keys, forward and backward, in a run and in a recording.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <algorithm>

#include "engine/config/presets.h"
#include "tests/ui/panels/recordings/replay_tab.h"
#include "tests/ui/studio_harness.h"
#include "ui/product/product_view.h"

namespace shardlens::ui {
namespace open_row_test {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const Program& program_of(const StudioHarness& harness) {
  return harness.snapshot().plan->program;
}

StepId step_named(const Program& program, const std::string& name) {
  for (const Step& step : program.steps)
    if (step.name == name) return step.id;
  throw std::logic_error("no step " + name);
}

ProductView& opened(StudioHarness& harness) {
  return harness.view().of<ProductView>();
}

void draw_until_at_rest(StudioHarness& harness) {
  for (int i = 0; i < 3; ++i) {  // a frame asks, the next one sends, the Session answers
    harness.draw_frames(3);
    harness.wait_until_at_rest();
  }
}

void press(StudioHarness& harness, ImGuiKeyChord key) {
  harness.perform([&](ImGuiTestContext& person) { person.KeyPress(key); });
  draw_until_at_rest(harness);
}

void select(StudioHarness& harness, const std::string& step) {
  select_step(harness.view(), program_of(harness), step_named(program_of(harness), step));
  harness.draw_frames(2);
}

void show_number(StudioHarness& harness, const std::string& step, int64_t row, int64_t col) {
  select(harness, step);
  opened(harness) = {};
  opened(harness).open = opened(harness).number = true;
  opened(harness).row = row;
  opened(harness).col = col;
  draw_until_at_rest(harness);
}

TEST(OpenRow, ADoubleClickOpensTheMatricesAClickANumberAndEscapeGoesBack) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const StepId z = step_named(program_of(harness), "mlp.proj");
  harness.go_to_step(z);
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemDoubleClick(("//Stage/**/##stage_step_" + std::to_string(z) + "_rank_1").c_str());
  });
  draw_until_at_rest(harness);
  EXPECT_TRUE(opened(harness).open);
  EXPECT_FALSE(opened(harness).number);
  EXPECT_FALSE(is_shown("Inspector")) << "the page gets the window";
  EXPECT_FALSE(is_shown("Setup"));
  EXPECT_THAT(texts_in(harness, "Stage"), Contains("rank 2: a term, Partial"));
  EXPECT_THAT(texts_in(harness, "Stage"), Contains("after the all-reduce"));

  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/result 2"); });
  draw_until_at_rest(harness);
  EXPECT_TRUE(opened(harness).number);
  EXPECT_THAT(texts_in(harness, "Stage"), Contains("One number of Z, on 4 ranks"));

  press(harness, ImGuiKey_Escape);
  EXPECT_TRUE(opened(harness).open && !opened(harness).number);
  press(harness, ImGuiKey_Escape);
  EXPECT_FALSE(opened(harness).open);
  EXPECT_TRUE(is_shown("Inspector"));
  EXPECT_EQ(harness.view().selected_step, z);
}

TEST(OpenRow, ArrowKeysGoFromCellToCellAndStayInside) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  show_number(harness, "mlp.proj", 0, 95);
  const StepId step = harness.view().selected_step;
  press(harness, ImGuiKey_DownArrow);
  press(harness, ImGuiKey_LeftArrow);
  EXPECT_EQ(opened(harness).row, 1);
  EXPECT_EQ(opened(harness).col, 94);
  EXPECT_THAT(texts_in(harness, "Stage"), Contains("Z[1, 94]"));
  press(harness, ImGuiKey_RightArrow);
  press(harness, ImGuiKey_RightArrow);
  EXPECT_EQ(opened(harness).col, 95) << "the last column";
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/previous cell"); });
  EXPECT_EQ(opened(harness).col, 94);
  EXPECT_EQ(harness.view().selected_step, step) << "no step was taken";
}

TEST(OneNumber, TheOtherCutIsNamedByItsAnswer) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  show_number(harness, "mlp.proj", 5, 80);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Stage/cut/over columns instead: rank 3 makes all of it");
  });
  draw_until_at_rest(harness);
  EXPECT_TRUE(opened(harness).recut);
  EXPECT_THAT(texts_in(harness, "Stage"), Contains(StartsWith("rank 3 has the whole sum")));
}

TEST(OneNumber, GeluOfTheSumIsNotTheSumOfTheGelus) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  show_number(harness, "mlp.proj", 5, 17);
  const auto texts = texts_in(harness, "Stage");
  EXPECT_THAT(texts, Contains("Why GeLU may not come before the sum"));
  EXPECT_THAT(texts, Contains("GeLU of the sum"));
  EXPECT_THAT(texts, Contains("sum of the GeLUs"));
  EXPECT_THAT(texts, Contains("difference"));
}

TEST(OneNumber, ReversedSaysThatGeluFollows) {
  Settings settings = small_settings();
  settings.split = named_split("reversed");
  StudioHarness harness({1920, 1080}, settings);
  harness.wait_until_at_rest();
  show_number(harness, "mlp.fc", 5, 17);
  EXPECT_THAT(texts_in(harness, "Stage"),
              Contains(StartsWith("G = GeLU(H) follows. It must wait for the sum.")));
}

TEST(OneNumber, OfAStepThatHasNotRunSaysSo) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  press(harness, ImGuiKey_Home);
  show_number(harness, "mlp.proj", 5, 17);
  EXPECT_THAT(texts_in(harness, "Stage"), Contains(HasSubstr("has not run yet")));
}

TEST(OneNumber, KeepsItsPlaceWhenTheSplitChanges) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  show_number(harness, "mlp.proj", 5, 17);
  press(harness, ImGuiKey_2);
  EXPECT_EQ(harness.snapshot().settings.tp, 2);
  EXPECT_TRUE(opened(harness).number);
  EXPECT_THAT(texts_in(harness, "Stage"), Contains("One number of Z, on 2 ranks"));
}

TEST(OpenRow, AttentionOpensIntoHeadsRankByRank) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  select(harness, "attn.core");
  press(harness, ImGuiKey_O);
  EXPECT_TRUE(opened(harness).open);
  auto texts = texts_in(harness, "Stage");
  EXPECT_THAT(texts, Contains("3 of 12 heads"));
  EXPECT_THAT(texts, Contains("scores of head 0, on rank 0"));
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/head 7 of rank 2"); });
  draw_until_at_rest(harness);
  texts = texts_in(harness, "Stage");
  EXPECT_THAT(texts, Contains("probabilities of head 7, on rank 2"));
}

// Twelve heads and the chosen one, large: at every size, also in a lecture and with uneven heads.
TEST(OpenRow, EveryHeadHasAPictureAtEverySize) {
  for (const PixelSize size : {PixelSize{1280, 720}, PixelSize{1920, 1080}}) {
    for (const bool lecture : {false, true}) {
      for (const int tp : {1, 2, 4, 8}) {
        Settings settings = small_settings();
        settings.tp = tp;
        settings.heads_policy = HeadsPolicy::Uneven;
        StudioHarness harness(size, settings);
        harness.view().set_lecture(lecture);
        harness.wait_until_at_rest();
        select(harness, "attn.core");
        press(harness, ImGuiKey_O);
        draw_until_at_rest(harness);
        int pictures = 0;
        for (const TapeMark& mark : marks_on_screen(harness))
          if (const auto* picture = std::get_if<mark::Pixels>(&mark.what))
            pictures += picture->max.x - picture->min.x >= 24;
        EXPECT_EQ(pictures, 12 + 2) << size.width << ", T = " << tp << ", lecture " << lecture;
      }
    }
  }
}

// In every head, the small ones and the large one: what dropout sets to zero.
TEST(OpenRow, DroppedProbabilitiesAreMarkedInEveryHead) {
  const auto marks = [](double dropout) {
    Settings settings = small_settings();
    settings.model = model_preset("gpt2-tiny");
    settings.block = Block::Model;
    settings.model.layers = 1;
    settings.tp = 2;
    settings.batch = 1;
    settings.seq = 8;
    settings.dropout = dropout;
    StudioHarness harness({1920, 1080}, settings);
    harness.wait_until_at_rest();
    select(harness, "h.0.attn.core");
    press(harness, ImGuiKey_O);
    draw_until_at_rest(harness);
    std::vector<int> inside;
    std::vector<mark::Pixels> pictures;
    for (const TapeMark& mark : marks_on_screen(harness))
      if (const auto* picture = std::get_if<mark::Pixels>(&mark.what)) pictures.push_back(*picture);
    for (const mark::Pixels& picture : pictures) {
      int fills = 0;
      for (const TapeMark& mark : marks_on_screen(harness))
        if (const auto* fill = std::get_if<mark::Fill>(&mark.what))
          fills += fill->min.x > picture.min.x && fill->max.x < picture.max.x &&
                   fill->min.y > picture.min.y && fill->max.y < picture.max.y;
      inside.push_back(fills);
    }
    return inside;
  };
  const std::vector<int> none = marks(0), half = marks(0.5);
  EXPECT_THAT(none, ::testing::Each(0));
  ASSERT_EQ(half.size(), 4u + 2u) << "four heads; the scores and the probabilities of one, large";
  EXPECT_EQ(std::count_if(half.begin(), half.end(), [](int fills) { return fills > 5; }), 4 + 1);
}

TEST(OpenRow, AnotherStepClosesIt) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  select(harness, "mlp.proj");
  press(harness, ImGuiKey_O);
  ASSERT_TRUE(opened(harness).open);
  press(harness, ImGuiMod_Shift | ImGuiKey_RightArrow);  // the all-reduce
  EXPECT_FALSE(opened(harness).open);
  EXPECT_TRUE(is_shown("Inspector"));
}

TEST(OpenRow, TheInspectorAndThePaletteLeadToANumber) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  select(harness, "mlp.proj");
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Inspector/open row"); });
  draw_until_at_rest(harness);
  EXPECT_TRUE(opened(harness).number);
  EXPECT_THAT(texts_in(harness, "Stage"), Contains(StartsWith("serial:")));
}

// A recording keeps the values of small pieces only: with them a number is made, and of others it is said why
// not. It has no numbers of the run on one rank.
TEST_F(ReplayTab, ANumberIsMadeOfWhatARecordingKept) {
  StudioHarness harness;
  ASSERT_TRUE(open(harness, record()));
  const Program& program = harness.snapshot().plan->program;
  int made = 0, told = 0;
  for (const Step& step : program.steps) {
    const std::optional<Product> product = product_of(program, step.id);
    if (!product || step.layer > 0) continue;
    select_step(harness.view(), program, step.id);
    opened(harness) = {};
    opened(harness).open = opened(harness).number = true;
    settle(harness);
    settle(harness);
    bool kept = true;
    for (const TensorId id : {product->a, product->b, product->out})
      for (const auto& rank : harness.snapshot().result->samples)
        kept = kept && rank[static_cast<size_t>(id)] && rank[static_cast<size_t>(id)]->has_exact();
    const std::vector<std::string> texts = texts_in(harness, "Stage");
    const bool has_number = std::find_if(texts.begin(), texts.end(), [](const auto& text) {
                              return text.find("its running sum") != std::string::npos;
                            }) != texts.end();
    (kept ? made : told) += 1;
    EXPECT_EQ(has_number, kept) << step.name;
    EXPECT_THAT(texts,
                Contains(HasSubstr(kept ? "serial: A recording holds no run on one rank" : "was kept")))
        << step.name;
  }
  EXPECT_GT(made, 0);
  EXPECT_GT(told, 0) << "some pieces are larger than a picture";
}

}  // namespace open_row_test
}  // namespace shardlens::ui
