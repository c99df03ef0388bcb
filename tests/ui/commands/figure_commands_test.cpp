// What an export writes: the window without tooltips, or a message that says what would help.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <imgui_internal.h>
#include <unistd.h>

#include <filesystem>

#include "tests/ui/studio_harness.h"
#include "ui/commands/commands.h"

namespace shardlens::ui {
namespace figure_commands_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ExportedWindow, HoldsNoTooltipAndTheWindowHasItAgainAfterwards) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const std::string tensor =
      "//Stage/**/##stage_step_" + std::to_string(harness.view().selected_step) + "_rank_1";
  const fs::path file = fs::path(::testing::TempDir()) / fmt::format("shardlens_window_{}.png", getpid());
  harness.perform([&](ImGuiTestContext& person) {
    person.MouseMove(tensor.c_str());
    person.SleepNoSkip(1, 1.0f / 60);
    IM_CHECK(is_shown("##Tooltip_00"));
    harness.view().picture = file;
    for (person.Yield(); !harness.view().picture.empty(); person.Yield()) IM_CHECK(!is_shown("##Tooltip_00"));
    person.SleepNoSkip(1, 1.0f / 60);
    IM_CHECK(is_shown("##Tooltip_00"));
  });
  EXPECT_TRUE(fs::remove(file)) << "it was written";
}

TEST(FailedExport, NamesTheFileTheReasonAndWhatWouldHelp) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const auto helps = [](const std::string& file) {
    return AllOf(HasSubstr("cannot write " + file), HasSubstr("; name a folder"),
                 HasSubstr("start it in another folder"));
  };
  for (const std::string file : {"/proc/stage.svg", "/proc/stage.pdf"}) {  // where not even root may write
    try {
      harness.studio().write_figure({.kind = FigureKind::Stage, .theme = ThemeName::Light, .size = {}}, file);
      FAIL() << file;
    } catch (const std::exception& error) {
      EXPECT_THAT(failed_export(error).words, helps(file));
    }
  }
  harness.view().picture = "/proc/window.png";
  for (int frame = 0; frame < 3; ++frame) {
    harness.draw_frames(1);
  }
  EXPECT_THAT(harness.view().said.words, helps("/proc/window.png"));
}

}  // namespace figure_commands_test
}  // namespace shardlens::ui
