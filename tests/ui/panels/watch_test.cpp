// A simulated user watches a job of another process: finds it and attaches with a click, follows it and stops
// following. The job is marked live on the screen, and the studio says when it has ended or was killed.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <functional>

#include "engine/base/worker.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/record/drawn_recording.h"
#include "tests/ui/studio_harness.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/theme/theme.h"

namespace shardlens::ui {
namespace watch_test {

using shardlens::testing::DrawnRecording;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

constexpr const char* kFollow = "//Replay/replay.follow";

class WatchedJob : public TestFolderWithCache {
 protected:
  /// Another process that records until it is killed; made before the studio, whose threads it must not have.
  pid_t start_job() {
    const pid_t job = fork();
    if (job != 0) return job;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    RecordingWriter writer(file_, drawn_.header());
    for (int64_t pass = 0;; ++pass) {
      drawn_.offer(writer, pass, pass + 1);
      let_workers_go_on(0.02);
    }
  }

  static bool drawn_until(StudioHarness& harness, const std::function<bool(const ReplaySnapshot&)>& is_so) {
    return harness.draw_until([&] { return is_so(harness.studio().replayed()); });
  }
  static auto shows(int64_t pass, int64_t of) {
    return [=](const ReplaySnapshot& replay) {
      return replay.is_open() && replay.recording->passes == of && replay.pass == pass;
    };
  }

  /// As a Test Engine path names it in the list of recordings.
  std::string row() const {
    std::string name = "//Open a recording/running:";
    for (const char letter : file_) name += letter == '/' ? std::string("\\/") : std::string(1, letter);
    return name;
  }
  void click_row(StudioHarness& harness) {
    ASSERT_TRUE(drawn_until(harness, [&](const ReplaySnapshot& replay) {
      return replay.list && std::count(replay.list->running.begin(), replay.list->running.end(), file_) == 1;
    })) << "what runs is not listed";
    harness.perform([&](ImGuiTestContext& person) { person.ItemClick(row().c_str()); });
    ASSERT_TRUE(drawn_until(harness, [&](const ReplaySnapshot& replay) {
      return replay.is_open() && replay.recording->path == file_;
    })) << harness.studio().replayed().message;
    EXPECT_FALSE(harness.view().chooser_open);
  }

  /// The strip begins with the red dot of what is live.
  static bool has_live_mark(StudioHarness& harness) {
    ImRect strip;
    harness.perform([&](ImGuiTestContext& person) { strip = person.WindowInfo("//Replay").RectFull; });
    const Image picture = harness.platform().read_pixels();
    const ImU32 red = theme(harness.view().theme).recording;
    int pixels = 0;
    for (int y = static_cast<int>(strip.Min.y); y < static_cast<int>(strip.Max.y); ++y)
      for (int x = static_cast<int>(strip.Min.x); x < static_cast<int>(strip.Min.x) + 32; ++x) {
        const uint8_t* at = picture.pixel(x, y);
        pixels += at[0] == (red & 255) && at[1] == (red >> 8 & 255) && at[2] == (red >> 16 & 255);
      }
    return pixels > 20;
  }
  static bool exists(StudioHarness& harness, const char* item) {
    bool is_there = false;
    harness.perform([&](ImGuiTestContext& person) { is_there = person.ItemExists(item); });
    return is_there;
  }

  void SetUp() override {
    TestFolderWithCache::SetUp();
    file_ = path("run.shardlens");
  }

  DrawnRecording drawn_{21, 7, 2, 1};
  std::string file_;
};

TEST_F(WatchedJob, IsAttachedToFromTheStartPageAndFollowedUntilOneLooksElsewhere) {
  StudioHarness harness;
  open_start_page(harness);
  RecordingWriter writer(file_, drawn_.header());
  drawn_.offer(writer, 0, 3);
  harness.perform([](ImGuiTestContext& person) {
    person.SetRef(person.WindowInfo("//Start/start page").ID);
    person.ItemClick("replay.attach");
  });
  ASSERT_TRUE(harness.view().chooser_open);
  ASSERT_NO_FATAL_FAILURE(click_row(harness));
  ASSERT_TRUE(drawn_until(harness, shows(2, 3)));
  EXPECT_TRUE(harness.studio().replayed().follows);
  EXPECT_THAT(harness.snapshot().result->provenance, StartsWith("live on "));
  EXPECT_TRUE(has_live_mark(harness));
  EXPECT_THAT(age_text(harness.studio().replayed(), now_seconds()), EndsWith(" ago"));
  drawn_.offer(writer, 3, 5);
  ASSERT_TRUE(drawn_until(harness, shows(4, 5))) << "the newest";

  // The button lets go, and brings back to the newest.
  harness.perform([](ImGuiTestContext& person) { person.ItemClick(kFollow); });
  ASSERT_TRUE(drawn_until(harness, [](const ReplaySnapshot& replay) { return !replay.follows; }));
  drawn_.offer(writer, 5, 6);
  ASSERT_TRUE(drawn_until(harness, shows(4, 6))) << "what is looked at stays";
  harness.perform([](ImGuiTestContext& person) { person.ItemClick(kFollow); });
  ASSERT_TRUE(drawn_until(harness, shows(5, 6)));

  // So does going elsewhere, and the key.
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_PageUp); });
  ASSERT_TRUE(drawn_until(harness, shows(4, 6)));
  EXPECT_FALSE(harness.studio().replayed().follows);
  drawn_.offer(writer, 6, 8);
  ASSERT_TRUE(drawn_until(harness, shows(4, 8)));
  EXPECT_TRUE(has_live_mark(harness)) << "it is live whether one follows or not";
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_J); });
  ASSERT_TRUE(drawn_until(harness, shows(7, 8)));
  EXPECT_TRUE(harness.studio().replayed().follows);
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_J); });
  ASSERT_TRUE(drawn_until(harness, [](const ReplaySnapshot& replay) { return !replay.follows; }));
}

TEST_F(WatchedJob, IsFoundInThePaletteAndAppearsInTheListWhenItBegins) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.Yield(3);
    person.KeyChars("attach");
    person.Yield(3);
    person.ItemClick("//Command palette/**/replay.attach");
    person.Yield(3);
  });
  ASSERT_TRUE(harness.view().chooser_open);
  ASSERT_TRUE(drawn_until(harness, [](const ReplaySnapshot& replay) { return replay.list != nullptr; }));
  EXPECT_THAT(harness.studio().replayed().list->running, ::testing::IsEmpty());
  EXPECT_FALSE(exists(harness, row().c_str()));
  RecordingWriter writer(file_, drawn_.header());
  ASSERT_NO_FATAL_FAILURE(click_row(harness));
  ASSERT_TRUE(drawn_until(harness, [](const ReplaySnapshot& replay) { return replay.is_live(); }));
  EXPECT_TRUE(has_live_mark(harness)) << "also before its first pass";
  drawn_.offer(writer, 0, 1);
  EXPECT_TRUE(drawn_until(harness, shows(0, 1)));
}

TEST_F(WatchedJob, GoesOnAsAReplayWhereItStoodWhenItEnds) {
  RecordingWriter writer(file_, drawn_.header());
  drawn_.offer(writer, 0, 4);
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.studio().open_recording(file_);
  ASSERT_TRUE(drawn_until(harness, shows(3, 4)));
  EXPECT_TRUE(exists(harness, kFollow));
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_PageUp); });
  ASSERT_TRUE(drawn_until(harness, shows(2, 4)));
  drawn_.offer(writer, 4, 6);
  writer.finish();
  ASSERT_TRUE(drawn_until(harness, [](const ReplaySnapshot& replay) { return !replay.is_live(); }));
  EXPECT_TRUE(shows(2, 6)(harness.studio().replayed())) << "one is where one was";
  EXPECT_THAT(harness.studio().replayed().message, HasSubstr("has ended and its recording is complete"));
  EXPECT_TRUE(exists(harness, "//Message/Close")) << "it is said on the screen";
  EXPECT_FALSE(exists(harness, kFollow));
  EXPECT_FALSE(has_live_mark(harness));
  EXPECT_THAT(harness.snapshot().result->provenance, StartsWith("replayed on "));
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_J); });
  harness.draw_frames(3);
  EXPECT_TRUE(shows(2, 6)(harness.studio().replayed())) << "there is nothing to follow any more";
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_PageDown); });
  EXPECT_TRUE(drawn_until(harness, shows(3, 6)));
}

TEST_F(WatchedJob, ThatIsStoppedStandsStillAndThatIsKilledIsGone) {
  const pid_t job = start_job();
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.studio().open_recording(file_);
  ASSERT_TRUE(drawn_until(harness, [](const ReplaySnapshot& replay) {
    return replay.is_live() && replay.recording->passes > 5;
  }));
  EXPECT_TRUE(has_live_mark(harness));
  kill(job, SIGSTOP);
  ASSERT_TRUE(drawn_until(harness,
                          [](const ReplaySnapshot& replay) { return replay.writer == WriterState::Silent; }));
  EXPECT_THAT(age_text(harness.studio().replayed(), now_seconds()), StartsWith("stands still: "));
  EXPECT_TRUE(has_live_mark(harness)) << "it may go on";
  kill(job, SIGCONT);
  ASSERT_TRUE(
      drawn_until(harness, [](const ReplaySnapshot& replay) { return replay.writer == WriterState::Works; }));
  kill(job, SIGKILL);
  waitpid(job, nullptr, 0);
  ASSERT_TRUE(drawn_until(harness, [](const ReplaySnapshot& replay) { return !replay.is_live(); }));
  const ReplaySnapshot& last = harness.studio().replayed();
  EXPECT_TRUE(last.is_open());
  EXPECT_EQ(last.pass, last.recording->passes - 1) << "it was followed to the end";
  EXPECT_THAT(last.message, HasSubstr("stopped before its end"));
  EXPECT_TRUE(exists(harness, "//Message/Close"));
  EXPECT_FALSE(exists(harness, kFollow));
  EXPECT_FALSE(has_live_mark(harness));
  EXPECT_THAT(texts_in(harness, "Replay"), Contains(HasSubstr("killed")));
  EXPECT_THAT(harness.snapshot().result->provenance, StartsWith("replayed on "));
}

}  // namespace watch_test
}  // namespace shardlens::ui
