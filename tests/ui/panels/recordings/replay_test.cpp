// A simulated user works with a recording: opens it, looks at it, annotates it, compares it with a run, and
// closes it.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "engine/config/presets.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/train_snapshot.h"
#include "tests/ui/panels/recordings/replay_tab.h"
#include "ui/commands/commands.h"
#include "ui/figure/figure.h"
#include "ui/panels/recordings/notes_view.h"
#include "ui/panels/timeline/timeline_view.h"
#include "ui/panels/timeline/tracks.h"
#include "ui/panels/traffic/traffic_times_rows.h"
#include "ui/panels/traffic/traffic_view.h"

namespace shardlens::ui {
namespace replay_test {

using ::testing::HasSubstr;

TEST_F(ReplayTab, TakesThePlaceOfWhatRunsAndGivesItBack) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const auto live = harness.studio().session().snapshot();
  ASSERT_TRUE(open(harness, record()));
  const Snapshot& shown = harness.snapshot();
  ASSERT_TRUE(shown.result);
  EXPECT_TRUE(shown.result->replayed);
  EXPECT_THAT(shown.result->provenance, HasSubstr("replayed on "));
  EXPECT_EQ(shown.settings.model.vocab, 53);
  EXPECT_GE(harness.view().selected_step, 0);
  // What would change or run something waits, by click and by key.
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_R);
    person.KeyPress(ImGuiKey_4);
    person.KeyPress(ImGuiMod_Shift | ImGuiKey_R);
    person.MouseMove("//Bar/Run");
    person.MouseClick();
    person.MouseMove("//Bar/Model");
    person.MouseClick();
  });
  EXPECT_EQ(harness.studio().session().snapshot(), live);
  EXPECT_EQ(harness.studio().training().snapshot()->state, TrainState::Idle);
  EXPECT_TRUE(harness.studio().replayed().is_open());
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Replay/replay.close"); });
  ASSERT_TRUE(drawn_until(harness, [](const ReplaySnapshot& replay) { return !replay.is_open(); }));
  EXPECT_EQ(&harness.snapshot(), live.get()) << "the run of before is back";
}

TEST_F(ReplayTab, TheLossAboveTheLayersIsThatOfThePassThatIsLookedAt) {
  StudioHarness harness;
  ASSERT_TRUE(open(harness, record()));
  for (int pass = 0; pass < 3; ++pass) {
    const Figure figure =
        harness.studio().draw_figure({.kind = FigureKind::Stage, .theme = ThemeName::Light, .size = {}});
    std::vector<std::string> losses;
    for (const TapeMark& mark : figure.tape.marks())
      if (const auto* words = std::get_if<mark::Words>(&mark.what); words && words->text.starts_with("loss "))
        losses.push_back(words->text);
    EXPECT_THAT(losses, ::testing::ElementsAre("loss " + std::to_string(9 - pass) + ".0000"));
    harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_PageDown); });
    settle(harness);
  }
}

TEST_F(ReplayTab, AClickOnARecordingsSettingsSaysWhyTheyStay) {
  StudioHarness harness;
  ASSERT_TRUE(open(harness, record()));
  for (const char* fixed : {"//Bar/T/1", "//Setup/T = 1"}) {
    ASSERT_FALSE(is_shown("Message"));
    harness.perform([&](ImGuiTestContext& person) {
      person.MouseMoveToPos(person.ItemInfo(fixed).RectFull.GetCenter());
      person.MouseClick();
    });
    harness.draw_frames(2);
    EXPECT_TRUE(is_shown("Message")) << fixed;
    harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_Escape); });
    harness.draw_frames(2);
  }
  for (const ImGuiKeyChord key : {ImGuiKeyChord(ImGuiKey_2), ImGuiKeyChord(ImGuiMod_Ctrl | ImGuiKey_Z)}) {
    ASSERT_FALSE(is_shown("Message"));
    harness.perform([&](ImGuiTestContext& person) { person.KeyPress(key); });
    harness.draw_frames(2);
    EXPECT_TRUE(is_shown("Message")) << key_text(key);
    harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_Escape); });
    harness.draw_frames(2);
  }
}

TEST_F(ReplayTab, NotesAreWrittenFoundAndFollowed) {
  StudioHarness harness;
  const std::string file = record();
  ASSERT_TRUE(open(harness, file));
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_B); });
  settle(harness);
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_PageDown);
    person.Yield(4);
  });
  settle(harness);
  harness.view().selected_step = 5;
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_N);
    person.Yield(3);
    person.KeyCharsReplaceEnter("look here");
  });
  settle(harness);
  ASSERT_EQ(Recording(file).notes().size(), 2u) << "they are in the file";
  EXPECT_EQ(Recording(file).notes()[1].text, "look here");
  EXPECT_EQ(Recording(file).notes()[1].step, 5);
  EXPECT_EQ(harness.studio().replayed().pass, kPasses - 1) << "typing is not walking";

  // Found by its words, and gone to.
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_PageUp); });
  harness.view().of<NotesView>().filter = "HERE look";
  settle(harness);
  harness.view().selected_step = 0;
  const std::vector<ReplayNote> notes = *harness.studio().replayed().notes;
  const std::string row = "//Notes/**/$$" + std::to_string(notes[1].note.id);
  harness.perform([&](ImGuiTestContext& person) {
    EXPECT_FALSE(person.ItemExists(("//Notes/**/$$" + std::to_string(notes[0].note.id) + "/go").c_str()));
    person.ItemClick((row + "/go").c_str());
  });
  settle(harness);
  EXPECT_EQ(harness.studio().replayed().pass, kPasses - 1);
  EXPECT_EQ(harness.view().selected_step, 5);

  // Changed, and removed.
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick((row + "/edit").c_str());
    person.ItemInputValue((row + "/##words").c_str(), "look there");
  });
  settle(harness);
  EXPECT_EQ(Recording(file).notes()[1].text, "look there");
  harness.view().of<NotesView>().filter.clear();
  settle(harness);
  harness.perform([&](ImGuiTestContext& person) { person.ItemClick((row + "/remove").c_str()); });
  settle(harness);
  EXPECT_EQ(Recording(file).notes().size(), 1u);
  harness.perform([&](ImGuiTestContext& person) {  // Escape leaves the words, and then the notes
    person.KeyPress(ImGuiKey_N);
    person.Yield(3);
    person.KeyChars("B and N are letters here");
    person.KeyPress(ImGuiKey_Escape);
    person.Yield(3);
    EXPECT_TRUE(harness.view().of<NotesView>().open);
    EXPECT_EQ(harness.view().of<NotesView>().text, "B and N are letters here")
        << "what was typed is not lost";
    person.KeyPress(ImGuiKey_Escape);
    person.Yield(3);
  });
  EXPECT_FALSE(harness.view().of<NotesView>().open);
}

TEST_F(ReplayTab, AFileThatIsNoneIsSaidAndChangesNothing) {
  StudioHarness harness;
  ASSERT_TRUE(open(harness, record()));
  const auto recording = harness.studio().replayed().recording;
  write("foreign.shardlens", std::string(3000, 'x'));
  harness.studio().open_recording(path("foreign.shardlens"));
  settle(harness);
  EXPECT_THAT(harness.studio().replayed().message, HasSubstr("is not an SQLite database"));
  EXPECT_EQ(harness.studio().replayed().recording, recording);
  harness.perform([](ImGuiTestContext& person) {
    EXPECT_TRUE(person.ItemExists("//Message/Close")) << "it says so";
    person.ItemClick("//Message/Close");
    person.Yield(3);
    EXPECT_FALSE(person.ItemExists("//Message/Close"));
  });
}

TEST_F(ReplayTab, IsChosenFromAListOrByItsPath) {
  const std::string file = record();
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_O);
    person.Yield(3);
    person.KeyCharsReplaceEnter(path("").c_str());  // a folder is listed
    harness.studio().replay().wait_until_idle(kTimeoutSeconds);
    person.Yield(3);
    EXPECT_TRUE(harness.view().chooser_open);
    ASSERT_TRUE(harness.studio().replay().snapshot()->list);
    EXPECT_EQ(harness.studio().replay().snapshot()->list->folder + "/", path(""));
    person.ItemClick("//Open a recording/**/run.shardlens");
  });
  settle(harness);
  ASSERT_TRUE(harness.studio().replayed().is_open()) << harness.studio().replayed().message;
  EXPECT_FALSE(harness.view().chooser_open);
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_W); });
  ASSERT_TRUE(drawn_until(harness, [&](const ReplaySnapshot& replay) { return !replay.is_open(); }));
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_O);
    person.Yield(3);
    person.KeyCharsReplaceEnter(file.c_str());
  });
  EXPECT_TRUE(drawn_until(harness, [&](const ReplaySnapshot& replay) { return replay.is_open(); }));
}

TEST_F(ReplayTab, WhatWasRecordedHereIsListedFirstAndAClickAwayFromElsewhere) {
  record();
  StudioHarness harness;
  harness.view().recordings = std::filesystem::path(path("run.shardlens")).parent_path();
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_O);
    person.Yield(3);
    harness.studio().replay().wait_until_idle(kTimeoutSeconds);
    person.Yield(3);
    EXPECT_TRUE(person.ItemExists("//Open a recording/**/run.shardlens"))
        << "there is none where it was started";
    person.ItemClick("//Open a recording/**/..");
    harness.studio().replay().wait_until_idle(kTimeoutSeconds);
    person.Yield(3);
    person.ItemClick("//Open a recording/**/own");
    harness.studio().replay().wait_until_idle(kTimeoutSeconds);
    person.Yield(3);
    EXPECT_FALSE(person.ItemExists("//Open a recording/**/own"));
    person.ItemClick("//Open a recording/**/run.shardlens");
  });
  settle(harness);
  EXPECT_TRUE(harness.studio().replayed().is_open()) << harness.studio().replayed().message;
}

// On one rank every tensor of the toy is held with its values, a few hundred megabytes a pass.
TEST_F(ReplayTab, AWholeModelThatIsRecordedByAClickKeepsItsPictures) {
  Settings settings;
  settings.model = model_preset("gpt2-tiny");
  settings.block = Block::Model;
  settings.tp = 1;
  settings.batch = 2;
  settings.seq = 256;
  StudioHarness harness({1280, 720}, settings);
  harness.view().recordings = std::filesystem::path(path("run.shardlens")).parent_path() / "own";
  harness.wait_until_at_rest();
  const auto press = [&](ImGuiKeyChord key) {
    harness.perform([key](ImGuiTestContext& person) { person.KeyPress(key); });
    harness.wait_until_at_rest();
  };
  press(ImGuiMod_Ctrl | ImGuiKey_R);
  press(ImGuiKey_R);
  press(ImGuiMod_Ctrl | ImGuiKey_R);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(harness.view().recordings))
    files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1u);
  const RecordingTotals totals = Recording(files.front().string()).totals();
  EXPECT_GE(totals.passes, 1);
  EXPECT_GT(totals.pictures, 100);
  EXPECT_EQ(totals.dropped_pictures, 0);
}

TEST_F(ReplayTab, OpeningIsFoundInThePaletteByAClick) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.Yield(3);
    person.KeyChars("open a rec");
    person.Yield(3);
    person.ItemClick("//Command palette/**/replay.open");
    person.Yield(3);
  });
  EXPECT_FALSE(harness.view().palette_open);
  EXPECT_TRUE(harness.view().chooser_open);
}

TEST_F(ReplayTab, ThisMachinesRunStandsBesideTheRecordedOne) {
  StudioHarness harness;
  ASSERT_TRUE(open(harness, record()));
  EXPECT_FALSE(harness.studio().has_beside());
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Replay/replay.run_here"); });
  ASSERT_TRUE(drawn_until(harness, [&](const ReplaySnapshot&) { return harness.studio().has_beside(); }));
  EXPECT_TRUE(harness.snapshot().result->replayed) << "the recording is what is shown";
  const auto here = harness.studio().session().snapshot();
  EXPECT_EQ(here->settings, harness.snapshot().settings);
  const std::vector<TimeRow> rows =
      time_rows(*harness.snapshot().plan, *harness.snapshot().result, here->result.get());
  double replayed = 0, measured = 0;
  for (const TimeRow& row : rows) {
    replayed += row.measured_seconds;
    measured += row.beside_seconds;
  }
  EXPECT_GT(replayed, 0);
  EXPECT_GT(measured, 0);
  harness.view().tab = Tab::Traffic;
  harness.view().focus_tab = harness.view().of<TrafficView>().times = true;
  harness.draw_frames(4);  // both are drawn
  // The Timeline has them below each other: a click on this machine's last track selects a step too.
  const Tracks live = tracks_of(*here);
  // (Not one that goes on beside the others: the middle of a track is theirs.)
  const Program& program = live.plan->program;
  const auto& events = live.ranks().back();
  const auto own_seconds = [&](const StepEvent& event) {
    const auto id = static_cast<StepId>(&event - events.data());
    return lane_of(program.step(id)) == Lane::Own ? event.seconds() : 0;
  };
  const auto longest = std::max_element(events.begin(), events.end(), [&](const auto& a, const auto& b) {
    return own_seconds(a) < own_seconds(b);
  });
  harness.view().of<TimelineView>().begin_seconds = longest->begin_seconds;
  harness.view().of<TimelineView>().end_seconds = longest->end_seconds;
  harness.view().selected_step = -1;
  harness.perform([&](ImGuiTestContext& person) {
    const ImRect area = person.ItemInfo("//Timeline/**/tracks").RectFull;
    const float axis = 20, name = 18, tracks = area.GetHeight() - axis - 2 * name;
    const float pitch = std::min(tracks / 4, 36.0f);
    person.MouseMoveToPos(
        {(area.Min.x + 72 + area.Max.x) / 2, area.Min.y + axis + 2 * name + 3.5f * pitch - 3});
    person.MouseClick();
    person.Yield(2);
  });
  EXPECT_EQ(harness.view().selected_step, static_cast<StepId>(longest - events.begin()));
  // No line of the axis crosses the words above the tracks, wherever it stands.
  ImRect words;
  harness.perform([&](ImGuiTestContext& person) {
    const ImVec2 tracks = person.ItemInfo("//Timeline/**/tracks").RectFull.Min;
    words = {tracks + ImVec2(74, 21), tracks + ImVec2(150, 30)};
    person.MouseMoveToPos({words.Min.x, words.Min.y - 200});
  });
  const auto drawn_words = [&](double begin, double end) {
    harness.view().of<TimelineView>().begin_seconds = begin;
    harness.view().of<TimelineView>().end_seconds = end;
    harness.draw_frames(2);
    const Image picture = harness.platform().read_pixels();
    std::vector<uint8_t> pixels;
    for (int y = static_cast<int>(words.Min.y); y < static_cast<int>(words.Max.y); ++y)
      pixels.insert(pixels.end(), picture.pixel(static_cast<int>(words.Min.x), y),
                    picture.pixel(static_cast<int>(words.Max.x), y));
    return pixels;
  };
  const double whole = axis_of(live).size();
  const std::vector<uint8_t> alone = drawn_words(0, whole);
  EXPECT_GT(std::set<uint8_t>(alone.begin(), alone.end()).size(), 4u) << "there are words";
  for (int i = 1; i <= 30; ++i)  // the axis passes by, line after line
    EXPECT_EQ(drawn_words(whole * i / 60, whole * (i + 30) / 60) == alone, true) << i;
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Timeline/timeline of/the recording"); });
  EXPECT_TRUE(harness.view().of<TimelineView>().whole_recording);
}

TEST_F(ReplayTab, AStudioThatBeginsWithARecordingRunsNothingBeforeItIsClosed) {
  const std::unique_ptr<Platform> platform = make_offscreen_platform({1280, 720});
  const std::string file = record();
  Studio studio(small_settings(), platform->fonts(), {}, Session::Begin::WhenAsked);
  studio.open_recording(file);
  const auto frame = [&] {
    platform->begin_frame();
    studio.frame();
    platform->render();
    platform->present();
  };
  studio.replay().wait_until_idle(kTimeoutSeconds);
  for (int i = 0; i < 4; ++i) frame();
  ASSERT_TRUE(studio.replayed().is_open());
  EXPECT_EQ(studio.session().snapshot()->plan, nullptr);
  studio.replay().send(replay_command::Close{});
  studio.replay().wait_until_idle(kTimeoutSeconds);
  for (int i = 0; i < 4; ++i) frame();
  EXPECT_EQ(studio.session().wait_until_idle(kTimeoutSeconds)->settings, small_settings());
  EXPECT_EQ(studio.session().snapshot()->state, RunState::Done);
}

}  // namespace replay_test
}  // namespace shardlens::ui
