// The panels draw figures and leave no trace in the window.
#include "ui/figure/figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <icons_font_awesome_4.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/ui/studio_harness.h"

namespace shardlens::ui {
namespace figure_test {

// What is drawn past paint.h would be on the screen and not in the file.
TEST(Figure, NothingOfThePanelsIsLost) {
  for (const Block block : {Block::Layer, Block::Model}) {
    Settings settings = small_settings();
    settings.block = block;
    settings.model.layers = 3;
    settings.model.vocab = 512;
    StudioHarness harness({1280, 720}, settings);
    harness.wait_until_at_rest();
    for (const FigureKind kind : {FigureKind::Stage, FigureKind::Timeline}) {
      const Figure figure =
          harness.studio().draw_figure({.kind = kind, .theme = ThemeName::Light, .size = {}});
      EXPECT_EQ(figure.lost_vertices, 0);
      EXPECT_GT(figure.tape.marks().size(), 30u);
      EXPECT_EQ(figure.page.size.x, 960 * figure.page.pixels);
    }
  }
}

// The window draws the same triangles before and after, on the same selection.
TEST(Figure, TheWindowNoticesNothing) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  harness.draw_frames(8);
  ImGuiContext* const before = ImGui::GetCurrentContext();
  const StepId step = harness.view().selected_step;
  const int triangles = ImGui::GetDrawData()->TotalIdxCount;
  for (const FigureKind kind : {FigureKind::Stage, FigureKind::Timeline})
    harness.studio().draw_figure({.kind = kind, .theme = ThemeName::Dark, .size = PixelSize{1600, 900}});
  EXPECT_EQ(ImGui::GetCurrentContext(), before);
  harness.draw_frames(2);
  EXPECT_EQ(ImGui::GetDrawData()->TotalIdxCount, triangles);
  EXPECT_EQ(harness.view().selected_step, step);
}

// Of an open layer: its name stands over it, without what leads to its neighbours.
TEST(Figure, APageHasNothingToClickAt) {
  Settings settings = small_settings();
  settings.block = Block::Model;
  settings.model.layers = 3;
  settings.model.vocab = 512;
  StudioHarness harness({1280, 720}, settings);
  harness.wait_until_at_rest();
  harness.view().open_section = 2;
  const Figure figure =
      harness.studio().draw_figure({.kind = FigureKind::Stage, .theme = ThemeName::Light, .size = {}});
  std::vector<std::string> words;
  for (const TapeMark& mark : figure.tape.marks())
    if (const auto* said = std::get_if<mark::Words>(&mark.what)) words.push_back(said->text);
  EXPECT_THAT(words, ::testing::Contains("layer 1 (0–2)"));
  for (const char* leads : {ICON_FA_ARROW_UP, ICON_FA_ARROW_DOWN, ICON_FA_ANGLE_LEFT})
    EXPECT_THAT(words, ::testing::Not(::testing::Contains(::testing::StartsWith(leads))));
}

// A browser refuses a rectangle of negative width.
TEST(Figure, AnOutlineThatIsThinnerThanItsLineIsFilled) {
  const std::unique_ptr<Platform> platform = make_offscreen_platform({64, 64});
  Tape tape;
  tape.put(mark::Outline{{10, 10}, {11, 30}, 0xFF000000, 0, 2});
  const std::string svg = to_svg(tape, {{100, 100}, 1, 0, ""}, platform->fonts());
  EXPECT_THAT(svg, ::testing::HasSubstr("<rect x=\"10\" y=\"10\" width=\"1\" height=\"20\""));
  EXPECT_THAT(svg, ::testing::Not(::testing::HasSubstr("width=\"-")));
}

TEST(Figure, WordsGoUpwards) {
  const std::unique_ptr<Platform> platform = make_offscreen_platform({64, 64});
  const TextStyle style{platform->fonts().body, 10, 0xFF000000};
  Tape tape;
  tape.put(mark::Words{{20, 25}, style, Align::Left, "dWproj", true});
  EXPECT_THAT(to_svg(tape, {{100, 100}, 1, 0, ""}, platform->fonts()),
              ::testing::HasSubstr("transform=\"rotate(-90 20 30)\""));
}

TEST(Figure, ThePaletteWritesOneWhereTheStudioWasStarted) {
  const std::filesystem::path start = std::filesystem::current_path();
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("shardlens-figure-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  {
    StudioHarness harness({1280, 720});
    harness.wait_until_at_rest();
    harness.perform([&](ImGuiTestContext& person) {
      for (const char* format : {"SVG", "PDF", "SVG"}) {
        person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
        person.KeyChars("Export the Stage as ");
        person.KeyChars(format);
        person.Yield(2);
        person.KeyPress(ImGuiKey_Enter);
        person.Yield(3);
        person.ItemClick("//Message/Close");
      }
    });
  }
  std::filesystem::current_path(start);
  EXPECT_TRUE(std::filesystem::exists(folder / "shardlens-stage-1.svg"));
  EXPECT_TRUE(std::filesystem::exists(folder / "shardlens-stage-2.svg")) << "a file that is there is kept";
  std::ifstream file(folder / "shardlens-stage-1.pdf");
  std::string head(5, ' ');
  file.read(head.data(), 5);
  EXPECT_EQ(head, "%PDF-");
  std::filesystem::remove_all(folder);
}

}  // namespace figure_test
}  // namespace shardlens::ui
