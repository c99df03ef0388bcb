// A simulated user drives the Timeline: transport, selecting a block, zooming and panning.
#include <gtest/gtest.h>

#include "tests/ui/studio_harness.h"
#include "ui/context.h"
#include "ui/panels/timeline/timeline_view.h"
#include "ui/panels/timeline/tracks.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {
namespace timeline_test {

constexpr const char* kTracks = "//Timeline/**/tracks";
constexpr float kLabels = 72;  ///< pixels at the left that hold the ranks' names

Stretch shown(const StudioHarness& harness, const ViewState& view) {
  return clamped({view.of<TimelineView>().begin_seconds, view.of<TimelineView>().end_seconds},
                 axis_of(tracks_of(harness.snapshot())));
}

/// Where the middle of `step` on rank 0 lies on the screen.
ImVec2 place_of(ImGuiTestContext& person, StudioHarness& harness, StepId step) {
  const ImRect area = person.ItemInfo(kTracks).RectFull;
  const StepEvent& event = harness.snapshot().result->events[0][static_cast<size_t>(step)];
  const Stretch axis = shown(harness, harness.view());
  const double share = ((event.begin_seconds + event.end_seconds) / 2 - axis.begin) / axis.size();
  return {area.Min.x + kLabels + static_cast<float>(share) * (area.GetWidth() - kLabels), area.Min.y + 36};
}

/// Shows `step` with as much time before and after it: on a busy machine a step may be narrower than a pixel.
void show_closely(StudioHarness& harness, StepId step) {
  const StepEvent& event = harness.snapshot().result->events[0][static_cast<size_t>(step)];
  harness.view().of<TimelineView>().begin_seconds = event.begin_seconds - event.seconds();
  harness.view().of<TimelineView>().end_seconds = event.end_seconds + event.seconds();
}

/// The step that took longest on rank 0: wide enough to be clicked.
StepId longest_step(const StudioHarness& harness) {
  const auto& events = harness.snapshot().result->events[0];
  size_t longest = 0;
  for (size_t step = 0; step < events.size(); ++step) {
    const bool meets = is_collective(harness.snapshot().plan->program.steps[step].op);
    if (!meets && events[step].seconds() > events[longest].seconds()) longest = step;
  }
  return static_cast<StepId>(longest);
}

TEST(Timeline, ATimedRunIsShownAsMeasured) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const Tracks tracks = tracks_of(harness.snapshot());
  EXPECT_TRUE(tracks.measured);
  EXPECT_EQ(tracks.ranks().size(), 4u);
  EXPECT_GT(tracks.seconds, 0);
}

TEST(Timeline, AClickOnABlockSelectsItsStep) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const auto result = harness.snapshot().result;
  const StepId step = longest_step(harness);
  show_closely(harness, step);
  harness.view().selected_step = -1;
  ImVec2 mouse, place;
  harness.perform([&](ImGuiTestContext& person) {
    place = place_of(person, harness, step);
    person.MouseMoveToPos(place);
    mouse = ImGui::GetIO().MousePos;
    person.MouseClick();
  });
  ASSERT_EQ(harness.snapshot().result, result) << "nothing ran meanwhile";
  ASSERT_NEAR(mouse.x, place.x, 1.5);
  ASSERT_NEAR(mouse.y, place.y, 1.5);
  EXPECT_EQ(harness.view().selected_step, step);
}

TEST(Timeline, AClickOnARanksNameSelectsItAndAnotherTakesThatBack) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const StepId step = harness.view().selected_step;
  for (const int selected : {0, -1}) {
    harness.perform([](ImGuiTestContext& person) {
      const ImRect area = person.ItemInfo(kTracks).RectFull;
      person.MouseMoveToPos({area.Min.x + kLabels / 2, area.Min.y + 36});
      person.MouseClick();
      person.SleepNoSkip(1, 0.1f);
    });
    EXPECT_EQ(harness.view().selected_rank, selected);
  }
  EXPECT_EQ(harness.view().selected_step, step);
}

TEST(Timeline, TheWheelZoomsAboutTheMouseAndADragPans) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const StepId step = longest_step(harness);
  const double whole = tracks_of(harness.snapshot()).seconds;
  harness.perform([&](ImGuiTestContext& person) {
    person.MouseMoveToPos(place_of(person, harness, step));
    person.MouseWheelY(5);
  });
  const ViewState& view = harness.view();
  const double shown = view.of<TimelineView>().end_seconds - view.of<TimelineView>().begin_seconds;
  EXPECT_GT(shown, 0);
  EXPECT_LT(shown, whole / 2);
  const StepEvent& event = harness.snapshot().result->events[0][static_cast<size_t>(step)];
  const double middle = (event.begin_seconds + event.end_seconds) / 2;
  EXPECT_GT(middle, view.of<TimelineView>().begin_seconds);
  EXPECT_LT(middle, view.of<TimelineView>().end_seconds);

  const double begin = view.of<TimelineView>().begin_seconds;
  const StepId selected = view.selected_step;
  harness.perform([](ImGuiTestContext& person) {
    person.MouseMove(kTracks);
    person.MouseDragWithDelta({-200, 0});
  });
  EXPECT_NE(view.of<TimelineView>().begin_seconds, begin);
  EXPECT_NEAR(view.of<TimelineView>().end_seconds - view.of<TimelineView>().begin_seconds, shown,
              shown * 1e-6);
  EXPECT_EQ(view.selected_step, selected) << "a drag selects nothing";

  StepId clicked = -1;
  show_closely(harness, step);  // on a collective, a click opens what is inside
  harness.perform([&](ImGuiTestContext& person) {
    person.MouseMoveToPos(place_of(person, harness, step));
    person.MouseClick();
    clicked = view.selected_step;
    person.SleepNoSkip(1, 0.1f);  // else the next two clicks are the second and the third
    person.MouseDoubleClick();
  });
  EXPECT_EQ(view.of<TimelineView>().end_seconds, 0);
  EXPECT_EQ(view.selected_step, clicked) << "and not what lies there once the whole run is shown";
}

TEST(Timeline, TransportWalksToTheNextCollectiveAndBack) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  ASSERT_NE(harness.view().selected_step, 0);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Timeline/###walk.first"); });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.view().selected_step, 0);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Timeline/###walk.next_collective"); });
  harness.wait_until_at_rest();
  const StepId collective = harness.view().selected_step;
  ASSERT_GT(collective, 0);
  EXPECT_TRUE(is_collective(harness.snapshot().plan->program.step(collective).op));
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Timeline/###walk.back"); });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.view().selected_step, collective - 1);
  EXPECT_EQ(harness.snapshot().position, static_cast<size_t>(collective));
}

TEST(Timeline, ZoomAndPanStayInsideTheRun) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  ViewState& view = harness.view();
  const double whole = tracks_of(harness.snapshot()).seconds;
  zoom_timeline(view, harness.snapshot(), 0.25);
  EXPECT_NEAR(view.of<TimelineView>().end_seconds - view.of<TimelineView>().begin_seconds, whole / 4,
              whole * 1e-9);
  pan_timeline(view, harness.snapshot(), 100);
  EXPECT_NEAR(view.of<TimelineView>().end_seconds, whole, whole * 1e-9);
  pan_timeline(view, harness.snapshot(), -100);
  EXPECT_NEAR(view.of<TimelineView>().begin_seconds, 0, whole * 1e-9);
  zoom_timeline(view, harness.snapshot(), 100);
  EXPECT_NEAR(view.of<TimelineView>().end_seconds - view.of<TimelineView>().begin_seconds, whole,
              whole * 1e-9);
}

}  // namespace timeline_test
}  // namespace shardlens::ui
