// The studio's record button: what it records, when the file ends, and what its chip says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "engine/record/recording.h"
#include "tests/ui/studio_harness.h"
#include "ui/panels/bar/bar_chips.h"

namespace shardlens::ui {
namespace studio_recording_test {

using ::testing::HasSubstr;

constexpr double kTimeoutSeconds = 60;

TEST(StudioRecording, TheRedButtonRecordsTheNextRunAndSaysSo) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("studio_recordings_" + std::to_string(getpid()));
  {
    StudioHarness harness;
    harness.view().recordings = folder.string();
    harness.wait_until_at_rest();
    harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Bar/record"); });
    harness.wait_until_at_rest();
    EXPECT_TRUE(harness.studio().session().snapshot()->recording.on);
    EXPECT_TRUE(harness.studio().training().wait_until_idle(kTimeoutSeconds)->recording.on)
        << "its own thread";
    harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_R); });
    harness.wait_until_at_rest();
    harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_R); });
    harness.wait_until_at_rest();
    const RecordingState state = harness.studio().session().snapshot()->recording;
    EXPECT_FALSE(state.on);
    EXPECT_EQ(state.passes, 1);
    const Chip chip = record_chip(state, {}, theme(ThemeName::Dark));
    EXPECT_THAT(chip.tooltip, HasSubstr(state.path));
    EXPECT_EQ(Recording(state.path).totals().passes, 1);
    EXPECT_THAT(harness.view().recent, ::testing::ElementsAre(state.path)) << "it is found again on Start";
  }
  std::filesystem::remove_all(folder);
}

TEST(StudioRecording, ClosingTheStudioEndsTheFile) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("studio_closed_" + std::to_string(getpid()));
  std::string file;
  {
    StudioHarness harness;
    harness.view().recordings = folder.string();
    harness.wait_until_at_rest();
    harness.perform([](ImGuiTestContext& person) {
      person.ItemClick("//Bar/record");
      person.KeyPress(ImGuiKey_R);
    });
    harness.wait_until_at_rest();
    file = harness.studio().session().snapshot()->recording.path;
  }
  const Recording recording(file);
  EXPECT_TRUE(recording.finished());
  EXPECT_EQ(recording.totals().passes, 1);
  std::filesystem::remove_all(folder);
}

TEST(RecordChip, SaysWhatIsInTheFileAndWhatIsNot) {
  RecordingState runs;
  runs.on = true;
  runs.path = "a.shardlens";
  runs.files = 1;
  runs.passes = 12;
  runs.bytes = 1363149;
  const Chip on = record_chip(runs, {}, theme(ThemeName::Dark));
  EXPECT_EQ(on.text, "recording \u00B7 12 passes \u00B7 1.30 MiB \u00B7 dropped 0");
  EXPECT_EQ(on.mark, Mark::Dot);
  runs.dropped_passes = 3;
  runs.dropped_pictures = 2;
  runs.problem = "the disk is full";
  const Chip full = record_chip(runs, {}, theme(ThemeName::Dark));
  EXPECT_THAT(full.text, HasSubstr("dropped 5"));
  EXPECT_THAT(full.tooltip, HasSubstr("the disk is full"));
  EXPECT_EQ(full.mark, Mark::Cross);
}

}  // namespace studio_recording_test
}  // namespace shardlens::ui
