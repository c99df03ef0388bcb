// A simulated user drives the Timeline of a whole recording: zooming, panning, its map, clicks, and the
// search.
#include "ui/panels/timeline/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/runtime/recordings/history_reader.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/record/drawn_recording.h"
#include "tests/ui/studio_harness.h"
#include "ui/panels/timeline/history_view.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {
namespace history_test {

using testing::DrawnRecording;

constexpr const char* kTracks = "//Timeline/**/history";
constexpr const char* kMap = "//Timeline/**/map";
constexpr float kLabels = 72;  ///< pixels at the left that hold the ranks' names
constexpr float kHead = 38;    ///< and above the tracks, for axis and passes

class HistoryPanel : public TestFolder {
 protected:
  HistoryPanel() : drawn_(1, 12, 2, 2) {}

  void open(PixelSize size = {1920, 1080}) {
    drawn_.write(path("run.shardlens"));
    harness_ = std::make_unique<StudioHarness>(size);
    harness_->studio().open_recording(path("run.shardlens"));
    settle();
    ASSERT_TRUE(read().whole) << read().message << harness_->studio().replayed().message;
  }

  /// Until everything asked for has been read and drawn.
  void settle() {
    for (int round = 0; round < 4; ++round) {
      harness_->studio().replay().wait_until_idle(100);
      harness_->studio().history().wait_until_idle(100);
      harness_->draw_frames(2);
    }
  }
  void perform(const std::function<void(ImGuiTestContext&)>& steps) {
    harness_->perform(steps);
    settle();
  }

  const HistorySnapshot& read() {
    read_ = harness_->studio().history().snapshot();
    return *read_;
  }
  ViewState& view() { return harness_->view(); }
  Stretch shown() { return shown_of(view().of<HistoryView>(), read()); }
  double whole() { return axis_of(read()).size(); }
  int64_t pass() { return harness_->studio().replayed().pass; }

  void show(int64_t begin_ns, int64_t end_ns) {
    view().of<HistoryView>().shown = {static_cast<double>(begin_ns) * 1e-9,
                                      static_cast<double>(end_ns) * 1e-9};
    settle();
  }

  /// A step of the pass that takes long enough to be clicked, on that rank, in the middle of its track.
  StepId long_step(size_t pass, size_t rank) const {
    StepId longest = 0;
    int64_t most = 0;
    for (const Step& step : drawn_.program.steps) {
      if (step.overlapped) continue;
      const EventTimes event = drawn_.event(pass, rank, static_cast<size_t>(step.id));
      if (event.end_ns - event.begin_ns <= most) continue;
      most = event.end_ns - event.begin_ns;
      longest = step.id;
    }
    return longest;
  }

  DrawnRecording drawn_;
  std::unique_ptr<StudioHarness> harness_;
  std::shared_ptr<const HistorySnapshot> read_;
};

TEST_F(HistoryPanel, ShowsTheWholeRecordingAtFirst) {
  open();
  EXPECT_TRUE(shown() == axis_of(read()));
  EXPECT_EQ(read().ranks, 4);
  EXPECT_EQ(read().passes, 12);
  const HistorySlice& slice = *read().slice;
  EXPECT_LE(slice.begin_ns(), 0);
  EXPECT_GE(slice.end_ns(), read().end_ns);
  EXPECT_EQ(slice.passes.size(), 12u);
  harness_->studio().replay().send(replay_command::Close{});
  settle();
  EXPECT_FALSE(read().is_open());
}

TEST_F(HistoryPanel, TheWheelZoomsAboutTheMouseAndADragPans) {
  open();
  ImRect area;
  perform([&](ImGuiTestContext& person) {
    area = person.ItemInfo(kTracks).RectFull;
    person.MouseMoveToPos(
        {area.Min.x + kLabels + 0.7f * (area.GetWidth() - kLabels), area.Min.y + kHead + 10});
    person.MouseWheelY(6);
  });
  const Stretch zoomed = shown();
  EXPECT_NEAR(zoomed.size(), whole() * std::pow(0.8, 6), whole() * 1e-3);
  EXPECT_NEAR((0.7 * whole() - zoomed.begin) / zoomed.size(), 0.7, 0.01) << "what is under the mouse stays";
  EXPECT_TRUE(read().slice->begin_ns() <= static_cast<int64_t>(zoomed.begin * 1e9) &&
              read().slice->end_ns() >= static_cast<int64_t>(zoomed.end * 1e9))
      << "what is shown has been read";
  const int64_t before = pass();
  const StepId selected = view().selected_step;
  perform([&](ImGuiTestContext& person) {
    person.MouseMoveToPos({area.GetCenter().x, area.Min.y + kHead + 10});
    person.MouseDragWithDelta({200, 0});
  });
  const double moved = 200.0 / (area.GetWidth() - kLabels) * zoomed.size();
  EXPECT_NEAR(shown().begin, zoomed.begin - moved, zoomed.size() * 0.01);
  EXPECT_NEAR(shown().size(), zoomed.size(), zoomed.size() * 1e-6);
  EXPECT_EQ(pass(), before) << "a drag shows no other pass";
  EXPECT_EQ(view().selected_step, selected);
}

TEST_F(HistoryPanel, TheKeysZoomPanAndFit) {
  open();
  perform([](ImGuiTestContext& person) { person.KeyHold(ImGuiKey_W, 0.5f); });
  const Stretch near = shown();
  EXPECT_LT(near.size(), whole() * 0.9);
  perform([](ImGuiTestContext& person) { person.KeyHold(ImGuiKey_D, 0.2f); });
  EXPECT_GT(shown().begin, near.begin);
  perform([](ImGuiTestContext& person) { person.KeyHold(ImGuiKey_A, 0.4f); });
  EXPECT_LT(shown().begin, near.begin);
  const double size = shown().size();
  perform([](ImGuiTestContext& person) { person.KeyHold(ImGuiKey_S, 0.2f); });
  EXPECT_GT(shown().size(), size);
  perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_F); });
  EXPECT_TRUE(shown() == axis_of(read()));
}

TEST_F(HistoryPanel, WhereTheWindowIsLowATrackComesBeforeTheMap) {
  open({1280, 720});
  const auto has_map = [&] {
    bool found = false;
    perform([&](ImGuiTestContext& person) { found = person.ItemExists(kMap); });
    return found;
  };
  EXPECT_TRUE(has_map());
  view().set_lecture(true);
  view().asked_here().timeline = true;
  settle();
  EXPECT_FALSE(has_map());
  ImRect tracks;
  perform([&](ImGuiTestContext& person) { tracks = person.ItemInfo(kTracks).RectFull; });
  EXPECT_GT(tracks.GetHeight(), kHead * view().ui_scale() + 12);
}

TEST_F(HistoryPanel, TheMapsWindowIsDraggedAndResized) {
  open();
  const double all = whole();
  view().of<HistoryView>().shown = {0.4 * all, 0.6 * all};
  settle();
  ImRect map;
  const auto x = [&](double share) { return map.Min.x + static_cast<float>(share) * map.GetWidth(); };
  perform([&](ImGuiTestContext& person) {
    map = person.ItemInfo(kMap).RectFull;
    person.MouseMoveToPos({x(0.5), map.GetCenter().y});
    person.MouseDragWithDelta({0.1f * map.GetWidth(), 0});
  });
  EXPECT_NEAR(shown().begin, 0.5 * all, 0.01 * all);
  EXPECT_NEAR(shown().end, 0.7 * all, 0.01 * all);
  perform([&](ImGuiTestContext& person) {
    person.MouseMoveToPos({x(0.7), map.GetCenter().y});
    person.MouseDragWithDelta({0.2f * map.GetWidth(), 0});
  });
  EXPECT_NEAR(shown().begin, 0.5 * all, 0.01 * all) << "the other edge stays";
  EXPECT_NEAR(shown().end, 0.9 * all, 0.01 * all);
  perform([&](ImGuiTestContext& person) {
    person.MouseMoveToPos({x(0.5), map.GetCenter().y});
    person.MouseDragWithDelta({-0.1f * map.GetWidth(), 0});
  });
  EXPECT_NEAR(shown().begin, 0.4 * all, 0.01 * all);
  EXPECT_NEAR(shown().end, 0.9 * all, 0.01 * all);
  view().of<HistoryView>().shown = {0.4 * all, 0.5 * all};
  settle();
  perform([&](ImGuiTestContext& person) {
    person.MouseMoveToPos({x(0.8), map.GetCenter().y});
    person.MouseClick();
  });
  EXPECT_NEAR(shown().begin, 0.75 * all, 0.01 * all) << "a click beside it brings it there";
  EXPECT_NEAR(shown().size(), 0.1 * all, 0.001 * all);
}

TEST_F(HistoryPanel, AClickOnAnEventShowsItsPassAndSelectsItsStep) {
  open();
  constexpr size_t kPass = 9, kRank = 2;
  ASSERT_NE(pass(), static_cast<int64_t>(kPass));
  const StepId step = long_step(kPass, kRank);
  const EventTimes event = drawn_.event(kPass, kRank, static_cast<size_t>(step));
  const int64_t ns = event.end_ns - event.begin_ns;
  show(event.begin_ns - ns, event.end_ns + ns);
  ASSERT_TRUE(read().slice->has_events);
  view().selected_step = -1;
  perform([&](ImGuiTestContext& person) {
    const ImRect area = person.ItemInfo(kTracks).RectFull;
    const float pitch = std::min(36.f, std::floor((area.GetHeight() - kHead) / 4));
    const double share =
        (static_cast<double>(event.begin_ns + ns / 2) * 1e-9 - shown().begin) / shown().size();
    person.MouseMoveToPos({area.Min.x + kLabels + static_cast<float>(share) * (area.GetWidth() - kLabels),
                           area.Min.y + kHead + pitch * (kRank + 0.4f)});
    person.MouseClick();
  });
  EXPECT_EQ(pass(), static_cast<int64_t>(kPass));
  EXPECT_EQ(view().selected_step, step);
}

TEST_F(HistoryPanel, AClickOnARanksNameSelectsIt) {
  open();
  const int64_t before = pass();
  perform([&](ImGuiTestContext& person) {
    const ImRect area = person.ItemInfo(kTracks).RectFull;
    const float pitch = std::min(36.f, std::floor((area.GetHeight() - kHead) / 4));
    person.MouseMoveToPos({area.Min.x + kLabels / 2, area.Min.y + kHead + pitch * 2.4f});
    person.MouseClick();
  });
  EXPECT_EQ(view().selected_rank, 2);
  EXPECT_EQ(pass(), before);
}

TEST_F(HistoryPanel, ADoubleClickFitsThePass) {
  open();
  const int64_t begin = DrawnRecording::ns(drawn_.passes()[5].begin_seconds),
                length = DrawnRecording::ns(seconds_of(drawn_.passes()[5]));
  perform([&](ImGuiTestContext& person) {
    const ImRect area = person.ItemInfo(kTracks).RectFull;
    const double share = static_cast<double>(begin + length / 2) * 1e-9 / whole();
    person.MouseMoveToPos({area.Min.x + kLabels + static_cast<float>(share) * (area.GetWidth() - kLabels),
                           area.Min.y + kHead + 10});
    person.MouseDoubleClick();
  });
  EXPECT_NEAR(shown().size(), 1.04e-9 * static_cast<double>(length), 1e-6);
  EXPECT_LE(shown().begin * 1e9, static_cast<double>(begin));
  EXPECT_GE(shown().end * 1e9, static_cast<double>(begin + length));
}

TEST_F(HistoryPanel, TheSearchGoesFromStepToStep) {
  open();
  const Step& wanted = drawn_.program.steps[drawn_.program.steps.size() / 3];
  view().selected_step = static_cast<StepId>(drawn_.program.steps.size()) - 1;
  const int64_t before = pass();
  perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Timeline/##find step");
    person.KeyCharsReplaceEnter(wanted.name.c_str());
  });
  EXPECT_EQ(pass(), before + 1);
  ASSERT_GE(view().selected_step, 0);
  EXPECT_NE(drawn_.program.step(view().selected_step).name.find(wanted.name), std::string::npos);
  const EventTimes event =
      drawn_.event(static_cast<size_t>(before) + 1, 0, static_cast<size_t>(view().selected_step));
  EXPECT_LE(shown().begin * 1e9, static_cast<double>(event.begin_ns));
  EXPECT_GE(shown().end * 1e9, static_cast<double>(event.end_ns));
  EXPECT_TRUE(read().slice->has_events) << "near enough to see it";
  perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Timeline/##find step");
    person.KeyCharsReplaceEnter("no such step");
  });
  EXPECT_NE(view().of<HistoryView>().said.find("no such step"), std::string::npos);
}

TEST_F(HistoryPanel, TheSearchFindsCollectivesSlowPassesAndLongWaits) {
  open();
  perform([](ImGuiTestContext& person) { person.ItemClick("//Timeline/find collective"); });
  EXPECT_TRUE(is_collective(drawn_.program.step(view().selected_step).op));
  std::vector<double> lengths;
  for (int i = 0; i < 3; ++i) {
    perform([](ImGuiTestContext& person) { person.ItemClick("//Timeline/find slow pass"); });
    lengths.push_back(-seconds_of(drawn_.passes()[static_cast<size_t>(pass())]));
    const double begin = drawn_.passes()[static_cast<size_t>(pass())].begin_seconds;
    EXPECT_LE(shown().begin, begin);
    EXPECT_GE(shown().end, begin - lengths.back());
  }
  EXPECT_TRUE(std::is_sorted(lengths.begin(), lengths.end()));
  EXPECT_LT(lengths.front(), lengths.back());
  perform([](ImGuiTestContext& person) { person.ItemClick("//Timeline/find long wait"); });
  EXPECT_TRUE(is_collective(drawn_.program.step(view().selected_step).op));
  EXPECT_NE(view().of<HistoryView>().said.find("longest wait"), std::string::npos);
}

// The room is for what the colours mean.
TEST_F(HistoryPanel, AClassHasNoSearch) {
  open();
  const auto shows = [&](const std::string& text) {
    const std::vector<std::string> texts = texts_in(*harness_, "Timeline");
    return std::find(texts.begin(), texts.end(), text) != texts.end();
  };
  EXPECT_TRUE(shows("Slow pass"));
  view().set_lecture(true);
  view().asked_here().timeline = true;
  settle();
  EXPECT_TRUE(shows("12 passes"));
  EXPECT_FALSE(shows("Slow pass"));
}

TEST_F(HistoryPanel, WhatIsPlayedStaysInView) {
  open();
  const double all = whole();
  view().of<HistoryView>().shown = {0, 0.05 * all};
  harness_->studio().replay().send(replay_command::ShowPass{10});
  settle();
  EXPECT_EQ(shown().begin, 0) << "it stands still, and so does the view";
  harness_->studio().replay().send(replay_command::Play{1e-3});
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);  // frames may be fast
  while (shown().begin == 0 && std::chrono::steady_clock::now() < end) harness_->draw_frames(1);
  const double at = harness_->studio().replayed().seconds;
  EXPECT_GT(at, 0.5 * all);
  EXPECT_LE(shown().begin, at);
  EXPECT_GE(shown().end, at);
  EXPECT_NEAR(shown().size(), 0.05 * all, 1e-6 * all);
  harness_->studio().replay().send(replay_command::Pause{});
}

TEST_F(HistoryPanel, WalkingWhileItIsPausedKeepsTheStepInView) {
  open();
  const auto at = [&] {
    return drawn_.event(static_cast<size_t>(pass()), 0, static_cast<size_t>(view().selected_step));
  };
  const int64_t begin = drawn_.event(0, 0, 0).begin_ns;
  view().selected_step = 0;
  show(begin, begin + 200'000);
  const Stretch before = shown();
  for (const ImGuiKey key : {ImGuiKey_End, ImGuiKey_Home}) {
    perform([key](ImGuiTestContext& person) { person.KeyPress(key); });
    settle();
    EXPECT_LT(shown().begin * 1e9, static_cast<double>(at().end_ns));
    EXPECT_GT(shown().end * 1e9, static_cast<double>(at().begin_ns));
    EXPECT_NEAR(shown().size(), before.size(), 1e-9) << "it is moved, and not zoomed";
    if (key == ImGuiKey_End) {
      EXPECT_GT(shown().begin, before.end) << "the pass is wider than what is shown";
    }
  }
}

TEST_F(HistoryPanel, TheSearchesHaveCommands) {
  open();
  const auto by_name = [&](const char* name) {
    perform([name](ImGuiTestContext& person) {
      person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
      person.KeyChars(name);
      person.Yield(2);
      person.KeyPress(ImGuiKey_Enter);
      person.Yield(3);
    });
    settle();
  };
  by_name("recording's longest wait");
  EXPECT_NE(view().of<HistoryView>().said.find("longest wait"), std::string::npos);
  by_name("recording's slowest pass");
  EXPECT_EQ(view().of<HistoryView>().find, HistoryFind::SlowPass);
  by_name("recording's next collective");
  EXPECT_TRUE(is_collective(drawn_.program.step(view().selected_step).op));
  perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("Find a step");
    person.Yield(2);
    person.KeyPress(ImGuiKey_Enter);
    person.Yield(3);
    person.KeyChars("no such step");
    person.KeyPress(ImGuiKey_Enter);
  });
  settle();
  EXPECT_NE(view().of<HistoryView>().said.find("no such step"), std::string::npos)
      << "the field took the keyboard";
}

TEST_F(HistoryPanel, ARankWithoutEventsKeepsItsTrack) {
  for (RecordedPass& recorded : drawn_.passes()) recorded.events[1].clear();
  open();
  EXPECT_EQ(read().ranks, 4);
  ASSERT_EQ(read().slice->buckets.size(), 4u);
  const auto hit = hit_in(drawn_.program, *read().slice, 2, Lane::Own,
                          1e-9 * static_cast<double>(drawn_.event(3, 2, 5).begin_ns + 1), 1e-3);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->rank, 2);
  EXPECT_EQ(hit->pass->pass, 3);
  EXPECT_FALSE(hit_in(drawn_.program, *read().slice, 1, Lane::Own, whole() / 2, 1));
}

TEST_F(HistoryPanel, ASmallWindowHasItToo) {
  open({1280, 720});
  perform([](ImGuiTestContext& person) {
    person.MouseMove(kTracks);
    person.MouseWheelY(30);
  });
  EXPECT_TRUE(read().slice->has_events);
  EXPECT_LT(shown().size(), whole() / 100);
}

}  // namespace history_test
}  // namespace shardlens::ui
