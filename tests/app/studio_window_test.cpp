// The studio in a real window on an X server of its own: how it ends when a signal, the server or nobody ends
// it.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "tests/app/process.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace studio_window_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};

/// Asks no more once it is so: a process that has ended is waited for only once.
bool is_soon(const std::function<bool()>& is_so) {
  const auto end = Clock::now() + kPatience;
  while (!is_so()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

class StudioWindow : public TestFolder {
 protected:
  void TearDown() override {
    for (const pid_t one : {studio_, server_}) {
      if (one <= 0) continue;
      kill(one, SIGKILL);
      waitpid(one, nullptr, 0);
    }
    TestFolder::TearDown();
  }

  /// Starts `words` in a shell's place, with what it says in a file. It ends with this process.
  pid_t begin(const std::string& words, const std::string& says) {
    const pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(one, SIG_DFL);
    execl("/bin/sh", "sh", "-c", ("exec " + words + " >" + path(says) + " 2>&1").c_str(), nullptr);
    _exit(127);
  }

  /// False: there is no Xvfb.
  bool start_server() {
    server_ = begin("Xvfb -displayfd 1 -screen 0 1280x720x24 -nolisten tcp", "display");
    return is_soon([&] { return contents("display").find('\n') != std::string::npos; }) &&
           !display().empty() && display().find_first_not_of("0123456789") == std::string::npos;
  }
  std::string display() const {
    const std::string said = contents("display");
    return said.substr(0, said.find('\n'));
  }

  void start_studio(const std::string& with_display) {
    fs::remove(path("said"));  // what an earlier one has said
    fs::create_directories(path("config") + "/shardlens");
    write("config/shardlens/studio.json", "{ broken");
    studio_ = begin("env DISPLAY=" + with_display + " XDG_CONFIG_HOME=" + path("config") + " XDG_DATA_HOME=" +
                        path("data") + " " + SHARDLENS_PROGRAM + kTinyModel + "--theme light",
                    "said");
  }
  /// The studio reads its state when it opens, and says that it cannot. It would write it after some seconds.
  bool is_open() {
    const bool reads = is_soon([&] { return contents("said").find("cannot read") != std::string::npos; });
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return reads;
  }

  int wait_for_end() {
    int status = 0;
    const bool ended = is_soon([&] { return waitpid(studio_, &status, WNOHANG) == studio_; });
    EXPECT_TRUE(ended) << contents("said");
    if (ended) studio_ = 0;
    return status;
  }
  void expect_state_and_nothing_beside_it() {
    EXPECT_THAT(contents("config/shardlens/studio.json"), HasSubstr("\"light\""));
    EXPECT_EQ(contents("config/shardlens/studio.json.kept"), "{ broken") << "what could not be read is kept";
    for (const auto& entry : fs::directory_iterator(path("config") + "/shardlens"))
      EXPECT_TRUE(entry.path().filename() == "studio.json" || entry.path().filename() == "studio.json.kept")
          << entry.path();
  }

  pid_t server_ = 0, studio_ = 0;
};

TEST_F(StudioWindow, ASignalEndsItAsACloseDoes) {
  if (!start_server()) GTEST_SKIP() << "no Xvfb: " << contents("display");
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    start_studio(":" + display());
    ASSERT_TRUE(is_open()) << contents("said");
    kill(studio_, signal);
    const int status = wait_for_end();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status << contents("said");
    expect_state_and_nothing_beside_it();
  }
}

TEST_F(StudioWindow, ADisplayThatGoesAwayEndsItAsACloseDoes) {
  if (!start_server()) GTEST_SKIP() << "no Xvfb: " << contents("display");
  start_studio(":" + display());
  ASSERT_TRUE(is_open()) << contents("said");
  kill(server_, SIGKILL);
  const int status = wait_for_end();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << status;
  EXPECT_THAT(contents("said"), HasSubstr("the display has gone away"));
  expect_state_and_nothing_beside_it();
}

// A server behind a dead network accepts a connection and says nothing.
TEST_F(StudioWindow, ADisplayThatDoesNotAnswerIsNamedAfterAFewSeconds) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(listener, 0);
  int number = 60;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (;; ++number) {
    ASSERT_LT(number, 1000);
    address.sin_port = htons(static_cast<uint16_t>(6000 + number));
    if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) break;
  }
  ASSERT_EQ(listen(listener, 1), 0);
  const std::string display = "127.0.0.1:" + std::to_string(number);
  start_studio(display);
  EXPECT_TRUE(is_soon([&] { return contents("said").find("has not answered") != std::string::npos; }));
  EXPECT_THAT(contents("said"), HasSubstr(display));
  EXPECT_THAT(contents("said"), HasSubstr("--screenshot"));
  kill(studio_, SIGINT);
  const int status = wait_for_end();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << "it can be ended by a key";
  close(listener);
}

}  // namespace studio_window_test
}  // namespace shardlens
