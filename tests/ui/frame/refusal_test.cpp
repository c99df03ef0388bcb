// Settings that cannot run: the page says why and offers what would, also in lecture mode, and undo passes
// over them.
#include "ui/frame/refusal.h"

#include <gmock/gmock.h>

#include "engine/config/presets.h"
#include "tests/ui/studio_harness.h"
#include "ui/settings/difference.h"

namespace shardlens::ui {
namespace refusal_test {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr double kTimeoutSeconds = 60;

/// Presses a key within a script, and draws what the engine then did. A page that a script has opened stays
/// in front only until the script ends.
void press(ImGuiTestContext& person, StudioHarness& harness, ImGuiKeyChord key) {
  person.KeyPress(key);
  person.Yield(2);
  harness.studio().session().wait_until_idle(kTimeoutSeconds);
  person.Yield(6);
}

void press(StudioHarness& harness, ImGuiKeyChord key) {
  harness.perform([&](ImGuiTestContext& person) { press(person, harness, key); });
}

TEST(Refusal, IsOnTheOpenPageAndAKeyIsAnsweredThereToo) {
  for (const bool lecture : {false, true}) {
    StudioHarness harness({1280, 720});
    harness.view().set_lecture(lecture);
    harness.wait_until_at_rest();
    harness.perform([&](ImGuiTestContext& person) {
      for (const auto& [key, window] : {std::pair{ImGuiKey_2, "Stage"},
                                        {ImGuiKey_3, "Memory"},
                                        {ImGuiKey_4, "Traffic"},
                                        {ImGuiKey_5, "Scaling"},
                                        {ImGuiKey_6, "Compare"},
                                        {ImGuiKey_8, "Program"}}) {
        press(person, harness, ImGuiMod_Ctrl | key);
        press(person, harness, ImGuiKey_8);
        ASSERT_EQ(harness.snapshot().state, RunState::Refused) << window;
        EXPECT_FALSE(is_shown("Message")) << "a message would lie over an axis";
        const std::string path = std::string("//") + window + "/refusal/try ";
        EXPECT_TRUE(person.ItemExists((path + "T = 12").c_str())) << window;
        person.ItemClick((path + "T = 6").c_str());
        harness.studio().session().wait_until_idle(kTimeoutSeconds);
        person.Yield(6);
        EXPECT_EQ(harness.snapshot().settings.tp, 6) << window;
        EXPECT_EQ(harness.snapshot().state, RunState::Done);
        EXPECT_FALSE(person.ItemExists((path + "T = 12").c_str())) << window;
        press(person, harness, ImGuiKey_4);
      }
    });
  }
}

TEST(Refusal, IsSaidOnce) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  press(harness, ImGuiKey_8);
  int times = 0;
  for (const mark::Words& words : words_on_screen(harness))
    times += words.text.find("12 heads") != std::string::npos;
  EXPECT_EQ(times, 1);
}

TEST(Refusal, TrafficShowsTheRunBefore) {
  StudioHarness harness;
  harness.view().tab = Tab::Traffic;
  harness.view().focus_tab = true;
  harness.wait_until_at_rest();
  harness.draw_frames(4);
  Settings impossible = harness.snapshot().settings;
  impossible.tp = 8;
  harness.studio().session().send(command::SetSettings{impossible});
  harness.wait_until_at_rest();
  const std::vector<std::string> texts = texts_in(harness, "Traffic");
  EXPECT_THAT(texts, Contains(HasSubstr("12 heads are not divisible by 8")));
  EXPECT_THAT(texts, Contains("all-reduce"));
  EXPECT_THAT(texts, Contains("Below: the run before, T = 4."));
}

TEST(Refusal, UndoPassesOverWhatNeverRan) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  press(harness, ImGuiKey_2);
  press(harness, ImGuiKey_8);
  ASSERT_EQ(harness.snapshot().state, RunState::Refused);
  press(harness, ImGuiMod_Ctrl | ImGuiKey_Z);
  EXPECT_EQ(harness.snapshot().settings.tp, 2) << "the run before the refused one";
  press(harness, ImGuiKey_8);
  press(harness, ImGuiKey_3);
  press(harness, ImGuiMod_Ctrl | ImGuiKey_Z);
  EXPECT_EQ(harness.snapshot().settings.tp, 2) << "8 never ran";
  press(harness, ImGuiMod_Ctrl | ImGuiKey_Z);
  EXPECT_EQ(harness.snapshot().settings.tp, 4);
}

TEST(Refusal, TooLittleMemoryOffersWhatFits) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  Settings huge = harness.snapshot().settings;
  huge.model = model_preset("gpt2");
  huge.batch = 1 << 16;
  huge.seq = 1024;
  harness.studio().session().send(command::SetSettings{huge});
  harness.wait_until_at_rest();
  ASSERT_TRUE(harness.snapshot().only_planned()) << harness.snapshot().message;
  ASSERT_FALSE(harness.snapshot().fitting.empty());
  const int64_t batch = harness.snapshot().fitting.front().batch;
  EXPECT_LT(batch, huge.batch);
  harness.draw_frames(4);
  EXPECT_THAT(texts_in(harness, "Timeline"),
              Contains(HasSubstr("This machine cannot run it, so nothing is timed.")))
      << "nothing is to come";
  const std::string back = difference(small_settings(), huge);
  harness.perform([&](ImGuiTestContext& person) {
    EXPECT_TRUE(person.ItemExists(("//Stage/refusal/try batch " + std::to_string(batch)).c_str()));
    person.ItemClick(("//Stage/refusal/try back to " + back).c_str());
  });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings, small_settings());
}

}  // namespace refusal_test
}  // namespace shardlens::ui
