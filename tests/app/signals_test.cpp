// When a signal ends shardlens-cli, it leaves nothing behind that only the run needed: no lock, no temporary
// folder.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "engine/io/temporary_folder.h"
#include "tests/app/process.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace signals_test {

namespace fs = std::filesystem;

class CliSignals : public TestFolderWithCache {
 protected:
  void SetUp() override {
    TestFolderWithCache::SetUp();
    fs::create_directory(path("left"));
    setenv("TMPDIR", path("left").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    TestFolderWithCache::TearDown();
  }

  // Sends `signal` `pause` after `begun` holds, and expects the end and nothing in the folder "left".
  void expect_nothing_left(const std::string& arguments, int signal, const std::function<bool()>& begun,
                           std::chrono::milliseconds pause = std::chrono::milliseconds(50)) {
    send_after(arguments, signal, begun, pause);
    for (const auto& entry : fs::recursive_directory_iterator(path("left")))
      ADD_FAILURE() << arguments << " left " << entry.path();
  }

  void send_after(const std::string& arguments, int signal, const std::function<bool()>& begun,
                  std::chrono::milliseconds pause) {
    const pid_t child = begin_cli(arguments);
    for (int polls = 0; polls < 60'000 && !begun(); ++polls)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(begun()) << arguments;
    std::this_thread::sleep_for(pause);
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << arguments << status;
  }
};

// Until its first step a training has nothing to save. On a machine that keeps this test waiting the signal
// may come later: then the run saves its step, whole.
TEST_F(CliSignals, ATrainingThatHasHardlyBegunLeavesNoLock) {
  const std::string text = write("book.txt", std::string(4000, 'x'));
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU}) {
    const std::string run = path(fmt::format("left/{}", signal)), lock = run + ".lock";
    send_after(
        "train --data " + text + kTinyModel + "--checkpoint " + run, signal, [&] { return fs::exists(lock); },
        std::chrono::milliseconds(20));
    EXPECT_FALSE(fs::exists(lock));
    EXPECT_EQ(fs::exists(run), fs::exists(run + "/training.json"));
  }
}

// The system repeats this signal every second.
TEST_F(CliSignals, ALimitOnTimeIsReachedAfterTheStepAndWhatWasLearnedIsSaved) {
  const std::string text = write("book.txt", std::string(4000, 'x')), log = path("log.csv");
  const pid_t child = begin_cli("train --steps 1000000 --data " + text + kTinyModel + "--checkpoint " +
                                path("run") + " --log " + log);
  const auto rows = [&] {
    const std::string text_so_far = slurp(log);
    return std::count(text_so_far.begin(), text_so_far.end(), '\n');
  };
  for (int polls = 0; polls < 60'000 && rows() < 3; ++polls)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_GE(rows(), 3);
  for (int i = 0; i < 3; ++i) kill(child, SIGXCPU);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) << status;
  EXPECT_TRUE(fs::exists(path("run/training.json")));
}

TEST_F(CliSignals, ACorpusThatIsNotFinishedLeavesNoFolder) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int writer = open(pipe.c_str(), O_RDWR | O_CLOEXEC);  // which says nothing
  expect_nothing_left("data --text /dev/stdin --out " + path("left/all/corpus") + " < " + pipe, SIGINT,
                      [&] { return fs::exists(path("left/all/corpus")); });
  close(writer);
}

// The text's own folder, at any moment from when there are tokens in it.
TEST_F(CliSignals, ATextThatIsBeingPreparedLeavesNoFolder) {
  std::string words;
  for (int64_t word = 0; words.size() < 24'000'000; ++word) words += std::to_string(word * 7919) + " ";
  const std::string text = write("book.txt", words);
  for (const int pause : {0, 5, 20})
    expect_nothing_left(
        "train --steps 1 --data " + text + kTinyModel, SIGINT,
        [&] {
          const auto left = fs::directory_iterator(path("left"));
          return std::any_of(begin(left), end(left), [](const fs::directory_entry& entry) {
            return fs::exists(entry.path() / TemporaryFolder::kOwnMark / "train.tokens");
          });
        },
        std::chrono::milliseconds(pause));
}

TEST_F(CliSignals, ABenchLeavesNoRecordings) {
  expect_nothing_left("bench record --layer --repetitions 1000" + std::string(kTinyModel), SIGINT, [&] {
    const auto left = fs::recursive_directory_iterator(path("left"));
    return std::any_of(begin(left), end(left), [](const fs::directory_entry& entry) {
      return entry.path().extension() == ".2" && entry.file_size() > 0;
    });
  });
}

}  // namespace signals_test
}  // namespace shardlens
