// Kills or stops a process at some moment: all others end in time and name the lost rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "engine/record/live_link.h"
#include "engine/record/recording.h"
#include "tests/app/mpi.h"

namespace shardlens {
namespace mpi_faults_test {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kTimeoutSeconds = 2, kStartSeconds = 6;
// Of a machine that does something else meanwhile: a hang is for ever, so this says nothing about speed.
constexpr double kPatienceOfTheTest = 60;

void pause_milliseconds(double milliseconds) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
}

// One that has ended and that nobody has asked for yet (Z) does not.
bool goes_on(pid_t process) {
  const std::string stat = slurp("/proc/" + std::to_string(process) + "/stat");
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.compare(name_end, 3, ") Z") != 0;
}

class MpiFaults : public Mpi {
 protected:
  void TearDown() override {
    for (const auto& [rank, pid] : processes_) kill(pid, SIGKILL);
    if (job_.joinable()) job_.join();
    Mpi::TearDown();
  }

  // Returns when all of `count` processes have begun.
  void start(int count, const std::string& verb) {
    processes_.clear();
    for (const char* old : {"pids", "out"}) fs::remove(in_folder(old));
    // Each process leaves its rank and its number, and then is the program.
    const std::string one = "sh -c 'echo $OMPI_COMM_WORLD_RANK $$ >> " + in_folder("pids") + "; exec " +
                            kProgram + " " + verb + " --comm mpi --timeout " +
                            std::to_string(kTimeoutSeconds) + " --comm-timeout " +
                            std::to_string(kStartSeconds) + "'";
    const std::string mpirun = kEnvironment + "timeout -s KILL 150 mpirun " + mpirun_options_ +
                               "--oversubscribe -n " + std::to_string(count);
    job_ =
        std::jthread([this, mpirun, one] { ended_ = run_program(mpirun, one + " > " + in_folder("out")); });
    for (int turn = 0; turn < 3000 && processes_.size() < static_cast<size_t>(count); ++turn) {
      pause_milliseconds(10);
      std::ifstream file(in_folder("pids"));
      int rank = 0;
      for (pid_t pid = 0; file >> rank >> pid;) processes_[rank] = pid;
    }
    ASSERT_EQ(processes_.size(), static_cast<size_t>(count));
  }

  // A training run of `count` processes, T = 2, that goes on until somebody stops it, in its first steps.
  void start_training(int count, const std::string& options = {}) {
    start(count, "train --data sample --batch " + std::to_string(count) + " --seq 16 --tp 2 --dp " +
                     std::to_string(count / 2) + " --steps 1000000 " + options);
    for (int turn = 0; turn < 3000 && !has_printed("step "); ++turn) pause_milliseconds(10);
    pause_milliseconds(300);
  }

  bool has_printed(const std::string& text) const {
    return slurp(in_folder("out")).find(text) != std::string::npos;
  }

  // Waits for the end, and that nothing is left.
  double seconds_to_end() {
    const auto begin = std::chrono::steady_clock::now();
    job_.join();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    for (const auto& [rank, pid] : processes_) {
      bool left = true;
      for (int turn = 0; turn < 500 && left; ++turn) {
        left = goes_on(pid);
        if (left) pause_milliseconds(10);
      }
      EXPECT_FALSE(left) << "rank " << rank << " is left behind";
    }
    processes_.clear();
    return taken.count();
  }

  // One process is struck in the middle of training, all end, and it is named.
  void strike_in_training(int count, int rank, int signal) {
    start_training(count);
    ASSERT_EQ(kill(processes_[rank], signal), 0);
    EXPECT_LT(seconds_to_end(), kPatienceOfTheTest);
    EXPECT_NE(ended_.code, 0);
    const std::string name = "rank " + std::to_string(rank % 2) +
                             (count == 2 ? "" : " of replica " + std::to_string(rank / 2)) + " is lost";
    EXPECT_THAT(ended_.err, AnyOf(HasSubstr(name), HasSubstr("rank " + std::to_string(rank) + " is lost")));
  }

  std::string mpirun_options_;
  std::map<int, pid_t> processes_;
  std::jthread job_;
  Ended ended_;
};

TEST_F(MpiFaults, ARankThatIsKilledIsNamedByTheOthers) {
  strike_in_training(2, 1, SIGKILL);
}

// So whoever watches it is told too. The second that mpirun leaves is not enough on every disk.
TEST_F(MpiFaults, ARecordingSaysWhichRankWasLost) {
  mpirun_options_ = "--mca odls_base_sigkill_timeout 20 ";
  start_training(2, "--record " + in_folder("run.shardlens"));
  int64_t seen = 0;
  for (int turn = 0; turn < 3000 && seen == 0; ++turn) {  // whoever looks at it while the processes write it
    pause_milliseconds(10);
    const Recording live(in_folder("run.shardlens"));
    seen = live.passes();
    EXPECT_NE(live.writer(), WriterState::Gone);
  }
  EXPECT_GT(seen, 0);
  ASSERT_EQ(kill(processes_[1], SIGKILL), 0);
  seconds_to_end();
  const Recording recording(in_folder("run.shardlens"));
  EXPECT_GT(recording.passes(), 0);
  EXPECT_THAT(recording.failure(), HasSubstr("rank 1 is lost"));
}

TEST_F(MpiFaults, TheFirstRankIsNamedWhenItIsKilled) {
  strike_in_training(2, 0, SIGKILL);
}

TEST_F(MpiFaults, ARankThatHangsIsNamed) {
  strike_in_training(2, 1, SIGSTOP);
}

TEST_F(MpiFaults, TheFirstRankIsNamedWhenItHangs) {
  strike_in_training(2, 0, SIGSTOP);
}

TEST_F(MpiFaults, OfSeveralThatWaitForOneAnotherTheLostOneIsNamed) {
  strike_in_training(4, 3, SIGSTOP);
}

TEST_F(MpiFaults, ARankThatIsTooSlowIsNamedAndOneThatIsNotIsWaitedFor) {
  const std::string step = "step --model gpt2-tiny --tp 2 --seq 16 --timeout 2 --delay 1:h.0.attn.proj:";
  const Ended late = in_processes(2, step + "500");
  EXPECT_EQ(late.code, 0) << late.err;
  const Ended lost = in_processes(2, step + "60000");
  EXPECT_EQ(lost.code, 3);
  EXPECT_THAT(lost.err,
              AllOf(HasSubstr("rank 1 is lost"), HasSubstr("did not reach step"), HasSubstr("all-reduce")));
}

// All are told to end and one is late, but none is lost.
TEST_F(MpiFaults, AnInterruptionIsNotALoss) {
  start_training(2, "--delay 1:h.0.attn.proj:1000");
  const std::string stat = slurp("/proc/" + std::to_string(processes_[0]) + "/stat");
  char state = ' ';
  pid_t mpirun = 0;
  std::istringstream(stat.substr(stat.rfind(')') + 1)) >> state >> mpirun;
  ASSERT_GT(mpirun, 1);
  ASSERT_EQ(kill(mpirun, SIGINT), 0);  // as Ctrl+C does
  EXPECT_LT(seconds_to_end(), kPatienceOfTheTest);
  EXPECT_THAT(ended_.err, Not(HasSubstr("is lost")));
}

// Whoever tells one process to end means the run: it ends like one that is told by its first process, and is
// saved.
TEST_F(MpiFaults, ASigtermToAnyProcessEndsTheRun) {
  for (const int rank : {1, 0}) {
    start_training(2, "--checkpoint " + in_folder("told" + std::to_string(rank)));
    ASSERT_EQ(kill(processes_[rank], SIGTERM), 0);
    EXPECT_LT(seconds_to_end(), kPatienceOfTheTest);
    EXPECT_NE(ended_.code, 0);
    EXPECT_THAT(ended_.err, Not(HasSubstr("is lost"))) << rank;
    EXPECT_TRUE(fs::exists(in_folder("told" + std::to_string(rank)) + "/training.json"))
        << rank << ended_.err;
  }
}

TEST_F(MpiFaults, ATrainingRunIsRestartedByTheCommandThatBeganIt) {
  const auto train = [&](const std::string& name) {
    return "train --data sample --batch 2 --seq 16 --tp 2 --steps 150 --checkpoint-every 10 --restart "
           "--checkpoint " +
           in_folder(name);
  };
  const auto saved = [&](const std::string& name) { return slurp(in_folder(name) + "/training.json"); };
  ASSERT_EQ(in_processes(2, train("whole")).code, 0);
  start(2, train("parts"));
  for (int turn = 0; turn < 60000 && saved("parts").empty(); ++turn) pause_milliseconds(1);
  ASSERT_EQ(kill(processes_[1], SIGKILL), 0);
  seconds_to_end();
  ASSERT_NE(ended_.code, 0);
  ASSERT_NE(saved("parts"), saved("whole")) << "it was done before it could be killed";
  const Ended again = in_processes(2, train("parts"));
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("resumed after step "));
  for (const char* file : {"/model.safetensors", "/optimizer.safetensors", "/training.json"})
    EXPECT_TRUE(slurp(in_folder("whole") + file) == slurp(in_folder("parts") + file)) << file;
}

// At any moment, the start and the end too. SHARDLENS_STRESS says how often; the seed is in the message of
// what fails.
class MpiFaultsAtRandomMoments : public MpiFaults, public ::testing::WithParamInterface<int> {};

TEST_P(MpiFaultsAtRandomMoments, EndAllAndNameTheLostRank) {
  const int signal = GetParam();
  const char* wanted = std::getenv("SHARDLENS_STRESS");
  const char* first = std::getenv("SHARDLENS_STRESS_FIRST");
  const int begin = first != nullptr ? std::atoi(first) : 0;
  const int rounds = wanted != nullptr ? std::atoi(wanted) : 3;
  const std::string save = " --checkpoint " + in_folder("saved") + " --checkpoint-every 3 --validate-every 2";
  const std::string record = " --record " + in_folder("run.shardlens") + " --record-pictures all";
  const std::string verbs[] = {"train --data sample --seq 16 --steps 1000000",
                               "train --data sample --seq 16 --steps 1000000" + save,
                               "train --data sample --seq 16 --steps 1000000" + record,
                               "train --data sample --seq 16 --steps 40" + save + record};
  std::map<std::string, int> tally;
  double longest_seconds = 0;
  for (int round = begin; round < begin + rounds; ++round) {
    std::mt19937 draw(static_cast<unsigned>(round));
    const int count = draw() % 4 == 0 ? 4 : 2;
    const int rank = static_cast<int>(draw() % static_cast<unsigned>(count));
    const double moment_milliseconds = static_cast<double>(draw() % 2500);
    const std::string& verb = verbs[draw() % 4];
    SCOPED_TRACE(::testing::Message() << "round " << round << ", rank " << rank << " of " << count
                                      << " after " << moment_milliseconds << " ms of " << verb);
    for (const char* old : {"saved", "run.shardlens"}) fs::remove_all(in_folder(old));
    start(count, verb + " --tp 2 --dp " + std::to_string(count / 2) + " --batch " + std::to_string(count));
    pause_milliseconds(moment_milliseconds);
    const bool trains = has_printed("T = 2");
    if (kill(processes_[rank], signal) != 0) {
      ++tally["had ended before"];
      seconds_to_end();
      continue;
    }
    const double seconds = seconds_to_end();
    longest_seconds = std::max(longest_seconds, seconds);
    EXPECT_LT(seconds, kPatienceOfTheTest) << ended_.err;
    const auto is_said = [&](const std::string& text) { return ended_.err.find(text) != std::string::npos; };
    const std::string number = std::to_string(rank);
    const bool named = is_said("rank " + number + " is lost") ||
                       (count == 4 && is_said("rank " + std::to_string(rank % 2) + " of replica " +
                                              std::to_string(rank / 2) + " is lost"));
    if (ended_.code == 0) {
      ++tally["done all the same"];
    } else if (named) {
      ++tally[is_said("did not reach step") ? "named with step and collective" : "named"];
    } else if (!trains && is_said("process " + number + " of")) {
      ++tally["missed at the start"];
    } else if (signal == SIGKILL && is_said("process rank " + number + " with PID")) {
      ++tally["named by mpirun alone"];
    } else {
      ++tally["not named"];
      ADD_FAILURE() << "exit code " << ended_.code << (trains ? ", trained" : ", at the start") << "\n"
                    << ended_.err;
    }
  }
  std::printf("%s, %d rounds, the longest ended after %.1f s:", signal == SIGKILL ? "killed" : "stopped",
              rounds, longest_seconds);
  for (const auto& [what, times] : tally) std::printf(" %s %d;", what.c_str(), times);
  std::printf("\n");
}

INSTANTIATE_TEST_SUITE_P(Signals, MpiFaultsAtRandomMoments, ::testing::Values(SIGKILL, SIGSTOP),
                         [](const auto& one) { return one.param == SIGKILL ? "Killed" : "Stopped"; });

}  // namespace mpi_faults_test
}  // namespace shardlens
