// A watched job ends like one that is not watched: watchers that are killed or stopped at random moments cost
// it nothing, and its recording holds the same. The studio draws a running job.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "engine/base/error.h"
#include "engine/record/live_link.h"
#include "engine/record/recording.h"
#include "tests/app/process.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace watch_test {

using namespace std::chrono_literals;

class Watch : public TestFolderWithCache {
 protected:
  /// Every pass is held for a moment, so that a fast machine too is still at it when somebody looks.
  pid_t train(const std::string& name, int steps) {
    return begin_cli(
        "train --model gpt2-tiny --batch 2 --seq 16 --threads 1 --tp 2 --data sample --delay "
        "0:0:15 --record-budget "
        "0 --steps " +
        std::to_string(steps) + " --record " + path(name));
  }
  bool is_recording(const std::string& name) const {
    return LiveWatch(path(name)).state() != WriterState::Gone && std::filesystem::exists(path(name));
  }
  void wait_for(const std::string& name, int64_t passes) const {
    for (int i = 0; i < 3000; ++i) {
      try {
        if (is_recording(name) && Recording(path(name)).passes() >= passes) return;
      } catch (const Error&) {  // it is just being made
      }
      std::this_thread::sleep_for(10ms);
    }
    FAIL() << name << " has not come to " << passes << " passes";
  }

  /// Another process that reads as much of it as it can, for ever.
  pid_t start_reader(const std::string& name) {
    const pid_t reader = fork();
    if (reader != 0) return reader;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
      try {
        const Recording recording(path(name));
        for (int64_t pass = 0; pass < recording.passes(); ++pass) {
          recording.pass(pass);
          recording.samples(pass);
        }
      } catch (const Error&) {
      }
    }
  }
  static double metric(const RecordedPass& pass, const std::string& name) {
    for (const auto& [found, value] : pass.metrics)
      if (found == name) return value;
    ADD_FAILURE() << "no " << name;
    return 0;
  }
  static int ended(pid_t job) {
    int status = 0;
    waitpid(job, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST_F(Watch, AJobNeverKnowsOfItsWatchers) {
  constexpr int kSteps = 150;
  ASSERT_EQ(ended(train("alone", kSteps)), 0);
  const pid_t job = train("watched", kSteps);
  wait_for("watched", 2);
  const pid_t stopped = start_reader("watched");
  std::this_thread::sleep_for(50ms);
  kill(stopped, SIGSTOP);  // somewhere in a read, to the end
  std::mt19937 draw(std::random_device{}());
  int killed = 0;
  for (; is_recording("watched"); ++killed) {
    const pid_t reader = start_reader("watched");
    std::this_thread::sleep_for(std::chrono::microseconds(draw() % 40'000));
    kill(reader, SIGKILL);
    waitpid(reader, nullptr, 0);
  }
  EXPECT_EQ(ended(job), 0);
  kill(stopped, SIGKILL);
  waitpid(stopped, nullptr, 0);
  EXPECT_GT(killed, 10);
  const Recording alone(path("alone")), watched(path("watched"));
  EXPECT_TRUE(watched.finished());
  EXPECT_EQ(watched.totals().problem, "");
  EXPECT_EQ(watched.totals().dropped_passes, 0);
  ASSERT_EQ(watched.passes(), kSteps);
  EXPECT_EQ(watched.totals().samples, alone.totals().samples);
  EXPECT_EQ(watched.hashes(0), alone.hashes(0));
  for (int64_t pass = 0; pass < kSteps; ++pass) {
    const RecordedPass seen = watched.pass(pass), unseen = alone.pass(pass);
    ASSERT_EQ(seen.events.size(), unseen.events.size());
    for (size_t rank = 0; rank < seen.events.size(); ++rank)
      EXPECT_EQ(seen.events[rank].size(), unseen.events[rank].size());
    for (const char* name : {"loss", "gradient_norm"})
      EXPECT_EQ(metric(seen, name), metric(unseen, name)) << pass;
  }
  for (const char* left : {"watched-live", "watched-journal", "watched-wal", "watched-shm"})
    EXPECT_FALSE(std::filesystem::exists(path(left))) << left;
}

TEST_F(Watch, InfoSaysThatItIsBeingWritten) {
  const pid_t job = train("run", 1'000'000);
  wait_for("run", 2);
  const Ended live = run_cli("info " + path("run"));
  EXPECT_EQ(live.code, 0) << live.err;
  EXPECT_NE(live.out.find("the run still writes it"), std::string::npos) << live.out;
  kill(job, SIGKILL);
  ended(job);
  const Ended dead = run_cli("info " + path("run"));
  EXPECT_NE(dead.out.find("the run was killed"), std::string::npos) << dead.out;
}

// `train` ends its step and closes the file, and at a second signal ends at once, as others do at the first:
// then the link goes with it.
TEST_F(Watch, AJobThatAPersonEndsLeavesItsRecordingAlone) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string name = "ended by " + std::to_string(signal);
    const pid_t job = begin_cli(
        "step --model gpt2-tiny --batch 2 --seq 16 --threads 1 --tp 2 --delay 0:0:15 "
        "--record-budget 0 --updates 1000000 --record '" +
        path(name) + "'");
    wait_for(name, 2);
    EXPECT_TRUE(std::filesystem::exists(live_link_path(path(name))));
    kill(job, signal);
    int status = 0;
    waitpid(job, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_FALSE(std::filesystem::exists(live_link_path(path(name)))) << name;
    EXPECT_GE(Recording(path(name)).passes(), 2);
  }
}

TEST_F(Watch, ATrainingThatIsToldTwiceToEndLeavesItsRecordingAlone) {
  const pid_t job = begin_cli(
      "train --model gpt2-tiny --batch 2 --seq 16 --threads 1 --tp 2 --data sample --delay "
      "0:0:2000 --record-budget 0 --record " +
      path("run"));
  wait_for("run", 1);
  kill(job, SIGINT);
  std::this_thread::sleep_for(100ms);
  kill(job, SIGINT);  // its step lasts two seconds
  int status = 0;
  waitpid(job, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  EXPECT_FALSE(std::filesystem::exists(live_link_path(path("run"))));
}

TEST_F(Watch, TheStudioDrawsAJobThatRuns) {
  const pid_t job = train("run.shardlens", 1'000'000);
  wait_for("run.shardlens", 5);
  const Ended drawn = draw_offscreen("--recording " + path("run.shardlens") + " --view replay --screenshot " +
                                     path("live.png") + " --size 1280x720");
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_TRUE(std::filesystem::exists(path("live.png")));
  EXPECT_TRUE(is_recording("run.shardlens"));
  kill(job, SIGKILL);
  ended(job);
  EXPECT_FALSE(is_recording("run.shardlens"));
}

}  // namespace watch_test
}  // namespace shardlens
