// A Replay watches a run: it shows new passes, it stays in place if the user looks elsewhere, and when the
// run ends in any way it becomes an ordinary replay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>

#include "engine/base/worker.h"
#include "engine/runtime/recordings/history_reader.h"
#include "engine/runtime/recordings/replay.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/record/drawn_recording.h"
#include "tests/engine/record/wait.h"

namespace shardlens {
namespace replay_live_test {

using ::testing::HasSubstr;
using namespace std::chrono_literals;
using testing::can_be_opened;
using testing::comes;
using testing::DrawnRecording;
using Shown = std::shared_ptr<const ReplaySnapshot>;

class ReplayLiveTest : public TestFolderWithCache {
 protected:
  Shown until(const std::function<bool(const ReplaySnapshot&)>& is_so) {
    EXPECT_TRUE(comes([&] { return is_so(*replay_->snapshot()); })) << replay_->snapshot()->message;
    return replay_->snapshot();
  }
  static auto has(int64_t passes) {
    return [passes](const ReplaySnapshot& replay) {
      return replay.is_open() && replay.recording->passes == passes && replay.metrics->complete &&
             static_cast<int64_t>(replay.metrics->rows()) == passes;
    };
  }

  DrawnRecording drawn_{21};
  std::optional<Replay> replay_{std::in_place};
};

TEST_F(ReplayLiveTest, FollowsTheNewestPassUntilSomebodyLooksElsewhere) {
  RecordingWriter writer(path("run"), drawn_.header());
  drawn_.offer(writer, 0, 3);
  replay_->send(replay_command::Open{path("run")});
  Shown now = until(has(3));
  EXPECT_TRUE(now->is_live());
  EXPECT_TRUE(now->follows);
  EXPECT_EQ(now->pass, 2);
  EXPECT_EQ(now->shown->result->provenance, "live on this machine, being recorded");
  EXPECT_STREQ(now->shown->result->how(), "live");
  const auto plan = now->recording->plan;
  drawn_.offer(writer, 3, 5);
  now = until(has(5));
  EXPECT_EQ(now->pass, 4);
  EXPECT_EQ(now->recording->plan, plan);  // it is the same recording, and no other was opened
  EXPECT_EQ(now->metrics->column("loss")->back(), 4);

  replay_->send(replay_command::ShowPass{1});
  now = until([](const ReplaySnapshot& replay) { return replay.pass == 1; });
  EXPECT_FALSE(now->follows);
  drawn_.offer(writer, 5, 7);
  now = until(has(7));
  EXPECT_EQ(now->pass, 1);
  replay_->send(replay_command::Follow{});
  now = until([](const ReplaySnapshot& replay) { return replay.pass == 6; });
  EXPECT_TRUE(now->follows);

  replay_->send(replay_command::ShowPass{2});
  until([](const ReplaySnapshot& replay) { return replay.pass == 2; });
  replay_->send(replay_command::AddNote{{0, 2, -1, -1, "here"}});
  now = until([](const ReplaySnapshot& replay) { return replay.notes->size() == 1; });
  EXPECT_FALSE(now->notes->front().saved);
  writer.finish();
  now = until([](const ReplaySnapshot& replay) { return !replay.is_live(); });
  EXPECT_TRUE(now->recording->finished);
  EXPECT_EQ(now->pass, 2);  // the place is kept
  EXPECT_EQ(now->recording->plan, plan);
  EXPECT_EQ(now->shown->result->provenance, "replayed on this machine");
  EXPECT_THAT(now->message, HasSubstr("has ended and its recording is complete"));
  EXPECT_TRUE(now->notes->front().saved);
  EXPECT_EQ(Recording(path("run")).notes().size(), 1u);
}

TEST_F(ReplayLiveTest, ARunThatFailsSaysWhy) {
  RecordingWriter writer(path("run"), drawn_.header());
  drawn_.offer(writer, 0, 2);
  replay_->send(replay_command::Open{path("run")});
  until(has(2));
  writer.finish("rank 1 is lost");
  const Shown now = until([](const ReplaySnapshot& replay) { return !replay.is_live(); });
  EXPECT_EQ(now->recording->failure, "rank 1 is lost");
  EXPECT_THAT(now->message, HasSubstr("The run has failed: rank 1 is lost"));
  EXPECT_TRUE(now->shown->result);
}

TEST_F(ReplayLiveTest, OneWithoutAPassYetShowsTheFirstThatComes) {
  RecordingWriter writer(path("run"), drawn_.header());
  replay_->send(replay_command::Open{path("run")});
  Shown now = until(has(0));
  EXPECT_TRUE(now->is_live());
  drawn_.offer(writer, 0, 1);
  now = until(has(1));
  ASSERT_TRUE(now->shown->result);
  EXPECT_EQ(now->pass, 0);
}

TEST_F(ReplayLiveTest, AKilledRunIsSaidToBeGoneWithinSeconds) {
  replay_.reset();  // a process that has several threads is not copied
  const pid_t run = fork();
  if (run == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    RecordingWriter writer(path("run"), drawn_.header());
    for (int64_t pass = 0;; ++pass) {
      drawn_.offer(writer, pass, pass + 1);
      let_workers_go_on(0.02);
    }
  }
  ASSERT_TRUE(comes([&] { return can_be_opened(path("run")); }));
  replay_.emplace();
  replay_->send(replay_command::List{path("")});
  EXPECT_THAT(until([](const ReplaySnapshot& replay) { return replay.list != nullptr; })->list->running,
              ::testing::ElementsAre(path("run")));
  replay_->send(replay_command::Open{path("run")});
  until([](const ReplaySnapshot& replay) { return replay.is_open() && replay.recording->passes > 30; });
  kill(run, SIGKILL);
  waitpid(run, nullptr, 0);
  const auto killed = std::chrono::steady_clock::now();
  const Shown now = until([](const ReplaySnapshot& replay) { return !replay.is_live(); });
  EXPECT_LT(std::chrono::steady_clock::now() - killed, 3s);
  EXPECT_TRUE(now->is_open());
  EXPECT_FALSE(now->recording->finished);
  EXPECT_THAT(now->message, HasSubstr("stopped before its end"));
  EXPECT_EQ(now->shown->result->provenance, "replayed on this machine");
}

TEST_F(ReplayLiveTest, AFileThatIsTakenAwayIsClosed) {
  RecordingWriter writer(path("run"), drawn_.header());
  drawn_.offer(writer, 0, 2);
  replay_->send(replay_command::Open{path("run")});
  until(has(2));
  std::filesystem::remove(path("run"));
  drawn_.offer(writer, 2, 4);
  EXPECT_THAT(until([](const ReplaySnapshot& replay) { return !replay.is_open(); })->message,
              HasSubstr("no longer exists"));
}

TEST_F(ReplayLiveTest, ItsTimelineGrowsAndStaysWhenItEnds) {
  HistoryReader reader;
  RecordingWriter writer(path("run"), drawn_.header());
  const auto program = std::make_shared<Program>(drawn_.program);
  reader.send(history_command::Open{path("run"), program});
  const auto until_passes = [&](int64_t passes) {
    const auto so = [&] {
      const auto now = reader.snapshot();
      // What is shown stays until the new is there: it reaches to the end then.
      return now->passes == passes && now->built == 1 && now->whole && now->whole->end_ns() >= now->end_ns;
    };
    EXPECT_TRUE(comes(so)) << reader.snapshot()->message;
    return reader.snapshot();
  };
  drawn_.offer(writer, 0, 3);
  EXPECT_TRUE(until_passes(3)->live);
  drawn_.offer(writer, 3, 9);
  const auto live = until_passes(9);
  EXPECT_GT(live->end_ns, 8'000'000'000);
  writer.finish();
  EXPECT_TRUE(comes([&] { return !reader.snapshot()->live; }));
  const auto ended = until_passes(9);
  EXPECT_FALSE(ended->live);
  EXPECT_EQ(ended->whole->buckets, live->whole->buckets);
}

}  // namespace replay_live_test
}  // namespace shardlens
