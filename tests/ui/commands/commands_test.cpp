// Keys are defined only in the command table. No two commands have the same key; but while a lesson is open
// its keys mean the lesson.
#include "ui/commands/commands.h"

#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <map>
#include <set>

#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"

namespace shardlens::ui {
namespace commands_test {

TEST(Commands, NoTwoKeysClash) {
  std::map<std::pair<bool, ImGuiKeyChord>, std::string> owners;
  for (const UiCommand& command : commands()) {
    for (const ImGuiKeyChord key : command.keys) {
      const auto [entry, is_new] =
          owners.emplace(std::pair(command.group == CommandGroup::Lesson, key), command.id);
      EXPECT_TRUE(is_new) << key_text(key) << " is wanted by " << entry->second << " and by " << command.id;
    }
  }
}

TEST(Commands, EachHasItsOwnIdTitleAndSentence) {
  std::set<std::string> ids, titles;
  for (const UiCommand& command : commands()) {
    EXPECT_TRUE(ids.insert(command.id).second) << command.id;
    EXPECT_TRUE(titles.insert(command.title).second) << command.title;
    EXPECT_FALSE(command.help.empty()) << command.id;
    EXPECT_TRUE(command.run) << command.id;
  }
}

TEST(Commands, HasTheKeysThatWereAskedFor) {
  const std::map<std::string, std::string> wanted{
      {"run.play", "Space"},        {"walk.first", "Home"},    {"walk.last", "End"},
      {"timeline.zoom_in", "W"},    {"timeline.earlier", "A"}, {"timeline.zoom_out", "S"},
      {"timeline.later", "D"},      {"view.fit", "F"},         {"view.palette", "Ctrl+P"},
      {"view.sheet", "?"},          {"view.lecture", "F11"},   {"view.larger", "Ctrl++"},
      {"view.scale_one", "Ctrl+0"}, {"settings.tp.8", "8"}};
  for (const auto& [id, key] : wanted) {
    ASSERT_FALSE(find_command(id).keys.empty()) << id;
    EXPECT_EQ(key_text(find_command(id).keys.front()), key) << id;
  }
  EXPECT_EQ(find_command("walk.forward").keys.front(), ImGuiKey_RightArrow);
  EXPECT_EQ(find_command("walk.back").keys.front(), ImGuiKey_LeftArrow);
  EXPECT_EQ(find_command("walk.next_collective").keys.front(), ImGuiMod_Shift | ImGuiKey_RightArrow);
  EXPECT_EQ(find_command("walk.previous_collective").keys.front(), ImGuiMod_Shift | ImGuiKey_LeftArrow);
}

TEST(Commands, AnUnknownIdIsAnError) {
  EXPECT_THROW(find_command("view.nothing"), std::out_of_range);
}

TEST(Commands, AnImpossibleDegreeFromThePaletteIsAnsweredOnThePage) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("T = 8");
    person.KeyPress(ImGuiKey_Enter);
  });
  harness.wait_until_at_rest();
  EXPECT_FALSE(harness.view().palette_open);
  EXPECT_EQ(harness.snapshot().state, RunState::Refused);  // 12 heads
  harness.perform(
      [](ImGuiTestContext& person) { person.ItemClick("//Stage/refusal/try run with uneven heads"); });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.heads_policy, HeadsPolicy::Uneven);
  EXPECT_EQ(harness.snapshot().state, RunState::Done);
}

TEST(Commands, ThePaletteFindsWhatIsExplainedAndGoesOnAfterNothingWasFound) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const ThemeName before = harness.view().theme;
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("projectors qqq");
    person.KeyPress(ImGuiKey_Enter);
    person.Yield(3);
    for (int letter = 0; letter < 4; ++letter) person.KeyPress(ImGuiKey_Backspace);
    person.Yield(2);
    person.KeyPress(ImGuiKey_Enter);
  });
  EXPECT_FALSE(harness.view().palette_open);
  EXPECT_NE(harness.view().theme, before) << "the theme's explanation names projectors";
}

}  // namespace commands_test
}  // namespace shardlens::ui
