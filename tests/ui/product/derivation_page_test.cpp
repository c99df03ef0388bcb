// The derivation of the selected step: opened by its key, its command and the Inspector, drawn within its
// room at every size, and copied as LaTeX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/derivation/derivation.h"
#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/commands/commands.h"
#include "ui/lesson/pages.h"
#include "ui/product/math_box.h"
#include "ui/product/product_view.h"

namespace shardlens::ui {
namespace derivation_page_test {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const Program& program_of(const StudioHarness& harness) {
  return harness.snapshot().plan->program;
}

void select(StudioHarness& harness, const std::string& name) {
  for (const Step& step : program_of(harness).steps)
    if (step.name == name) {
      select_step(harness.view(), program_of(harness), step.id);
      harness.draw_frames(3);
      return;
    }
  throw std::logic_error("no step " + name);
}

void press(StudioHarness& harness, ImGuiKeyChord key) {
  harness.perform([&](ImGuiTestContext& person) { person.KeyPress(key); });
  harness.draw_frames(3);
}

TEST(DerivationPage, ItsKeyOpensItAndEscapeGoesBack) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  select(harness, "mlp.proj");
  press(harness, ImGuiKey_M);
  EXPECT_EQ(shown_page(harness.view()), "derivation");
  EXPECT_THAT(texts_in(harness, "Stage"), Contains("Z = G \u00B7 Wproj, row-parallel"));
  EXPECT_THAT(texts_in(harness, "Stage"), Contains("Partial: full shape on each rank, a term of the sum"));
  press(harness, ImGuiKey_Escape);
  EXPECT_EQ(shown_page(harness.view()), "rows");
  press(harness, ImGuiKey_M);
  press(harness, ImGuiKey_M);
  EXPECT_EQ(shown_page(harness.view()), "rows");
}

// It is of the selected step: arrow keys show the next one's.
TEST(DerivationPage, ItFollowsTheSelection) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  select(harness, "mlp.fc");
  press(harness, ImGuiKey_M);
  press(harness, ImGuiKey_RightArrow);
  EXPECT_EQ(shown_page(harness.view()), "derivation");
  EXPECT_THAT(texts_in(harness, "Stage"), Contains(HasSubstr("G = GeLU(H)")));
}

TEST(DerivationPage, MatricesAndDerivationAreOneClickApart) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  select(harness, "mlp.proj");
  press(harness, ImGuiKey_O);
  EXPECT_EQ(shown_page(harness.view()), "product");
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/derivation"); });
  EXPECT_EQ(shown_page(harness.view()), "derivation");
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/matrices"); });
  EXPECT_EQ(shown_page(harness.view()), "product");
}

TEST(DerivationPage, TheCopyIsTheLatexOfTheStep) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  select(harness, "mlp.fc dX");
  press(harness, ImGuiKey_M);
  std::string copied;  // the scripted person has a clipboard of their own
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Stage/copy latex");
    if (const char* const text = ImGui::GetClipboardText(); text != nullptr) copied = text;
  });
  EXPECT_EQ(copied, to_latex(derive(program_of(harness), harness.view().selected_step)));
}

TEST(DerivationPage, TheInspectorHasTheLinesWhereItIsWide) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  select(harness, "mlp.fc db");  // a vector: its pictures leave room
  EXPECT_THAT(texts_in(harness, "Inspector"), Not(Contains("Copy as LaTeX")));
  harness.view().wide_inspector = true;
  harness.draw_frames(3);
  EXPECT_THAT(texts_in(harness, "Inspector"), Contains("Copy as LaTeX"));
  harness.view().wide_inspector = false;
  harness.draw_frames(3);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Inspector/derivation"); });
  EXPECT_EQ(shown_page(harness.view()), "derivation");
}

/// What the page draws of the derivation: everything of its own window.
std::vector<mark::Words> words_of_page(StudioHarness& harness) {
  std::vector<mark::Words> all = words_on_screen(harness);
  const ImGuiWindow* const page = window_with("derivation lines");
  if (page == nullptr) return {};
  std::erase_if(all, [&](const mark::Words& words) {
    return words.at.y < page->Pos.y || words.at.x < page->Pos.x || words.at.y > page->Pos.y + page->Size.y;
  });
  return all;
}

// What a class sees in the smallest window: every step of a layer and of a whole model, nothing wider than
// the page and nothing too small to read.
TEST(DerivationPage, EveryLineIsWithinThePageAndLegible) {
  Settings layer = small_settings(), model = small_settings();
  layer.split = named_split("megatron-sp");
  model.model = model_preset("gpt2-tiny");
  model.model.layers = 1;
  model.block = Block::Model;
  model.tp = 2;
  model.batch = 2;
  model.seq = 16;
  model.update = true;
  for (const auto& [settings, width] :
       {std::pair(layer, 800), std::pair(layer, 1280), std::pair(model, 1280)}) {
    StudioHarness harness({width, 720}, settings);
    harness.view().set_lecture(true);
    harness.wait_until_at_rest();
    std::set<std::string> seen;
    for (const Step& step : program_of(harness).steps) {
      if (!seen.insert(to_string(step.op) + step.equation).second) continue;
      SCOPED_TRACE(step.equation);
      select_step(harness.view(), program_of(harness), step.id);
      harness.view().of<ProductView>() = {.open = true, .derivation = true};
      harness.draw_frames(1);
      const std::vector<mark::Words> page = words_of_page(harness);
      EXPECT_GT(page.size(), 3u);
      for (const mark::Words& words : page) {
        EXPECT_LE(words.at.x + text_width(words.style, words.text), width) << words.text;
        EXPECT_GE(words.style.size, width < 1280 ? 11 : 16) << words.text;
      }
    }
  }
}

}  // namespace derivation_page_test
}  // namespace shardlens::ui
