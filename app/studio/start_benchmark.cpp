// The benchmark of the studio's start: this process starts others and reads the time of each event from them.
// All use the system's monotonic clock, so the time to load libraries counts too.
#include "app/studio/start_benchmark.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/io/file_problem.h"
#include "engine/io/json_text.h"
#include "engine/runtime/rank_priority.h"
#include "ui/platform/platform.h"
#include "ui/studio.h"

namespace shardlens {
namespace {

constexpr PixelSize kSize{1920, 1080};
constexpr double kTimeoutSeconds = 120;
/// Environment variable of a timed process: the time of its start, from now_seconds().
constexpr const char* kStartedVariable = "SHARDLENS_START_BENCHMARK";

struct Mark {
  const char* key;
  const char* words;
  double bound_seconds;  ///< the time wanted; 0: none for this part
};
constexpr std::array<Mark, 5> kMarks{{{"main_seconds", "libraries loaded", 0},
                                      {"platform_seconds", "window and fonts", 0},
                                      {"studio_seconds", "studio made", 0},
                                      {"first_frame_seconds", "first frame", 0.5},
                                      {"executed_seconds", "executed layer", 1}}};

bool has_display() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"})
    if (const char* value = std::getenv(name); value && *value) return true;
  return false;
}

bool shows_executed_layer(const Snapshot& snapshot) {
  return snapshot.result && snapshot.plan && !snapshot.stale() &&
         snapshot.position == snapshot.plan->program.steps.size();
}

/// Runs in the process that is timed: starts the studio once and prints the times as JSON.
void start_once(const Options& options, double started_seconds) {
  nlohmann::json json;
  const auto mark = [&](size_t i) { json[kMarks[i].key] = now_seconds() - started_seconds; };
  mark(0);
  const PixelSize size = options.size.value_or(kSize);
  const bool window = has_display();
  set_beside_a_window(true);
  const std::unique_ptr<Platform> platform =
      window ? make_window_platform("Shardlens", size, VerticalSync::off) : make_offscreen_platform(size);
  mark(1);
  ui::Studio studio(options.settings, platform->fonts());
  apply_looks(options, studio.view());
  mark(2);
  double wait_seconds = 0;  // between frames, as in the window, because drawing takes time from the ranks
  for (size_t next = 3; next < kMarks.size();) {
    if (!window) std::this_thread::sleep_for(std::chrono::duration<double>(wait_seconds));
    platform->begin_frame(wait_seconds);
    studio.frame();
    platform->render();
    platform->present();
    if (next == 3) mark(next++);
    const Snapshot& shown = studio.snapshot();
    if (shows_executed_layer(shown)) mark(next++);
    wait_seconds = studio.idle_seconds();
    if (shown.state == RunState::Refused) throw request_error(shown.message);
    if (shown.state == RunState::Failed) throw run_error(shown.message);
    if (now_seconds() - started_seconds > kTimeoutSeconds) throw run_error("the layer did not run in time");
  }
  json["window"] = window;
  json["renderer"] = platform->renderer();
  fmt::print("{}\n", json_text(json));
}

/// Starts this program again with the same arguments and returns the JSON that it printed.
nlohmann::json start_other() {
  std::array<int, 2> ends{};
  const auto refuse = [] {
    throw run_error(
        fmt::format("cannot start the studio that is timed: {}", reason_and_remedy(errno, Refused::Start)));
  };
  if (pipe(ends.data()) != 0) refuse();
  std::ifstream line("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(line, word, '\0');) words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  setenv(kStartedVariable, fmt::format("{:.9f}", now_seconds()).c_str(), 1);
  const pid_t child = fork();
  if (child < 0) refuse();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execv("/proc/self/exe", arguments.data());
    _exit(127);
  }
  close(ends[1]);
  std::string printed;
  std::array<char, 4096> buffer;
  for (ssize_t n; (n = read(ends[0], buffer.data(), buffer.size())) > 0;)
    printed.append(buffer.data(), static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw run_error("the studio that was started failed");
  return nlohmann::json::parse(printed);
}

}  // namespace

void benchmark_start(const Options& options) {
  if (const char* started = std::getenv(kStartedVariable)) return start_once(options, std::atof(started));
  start_other();
  std::array<std::vector<double>, kMarks.size()> seconds;
  nlohmann::json last;
  for (int i = 0; i < options.benchmark_starts; ++i) {
    last = start_other();
    for (size_t m = 0; m < kMarks.size(); ++m) seconds[m].push_back(last[kMarks[m].key].get<double>());
  }
  const std::string where =
      fmt::format("{}, {}", last["window"].get<bool>() ? "a window" : "no display, into memory",
                  last["renderer"].get<std::string>());
  nlohmann::json json{{"starts", options.benchmark_starts}, {"where", where}};
  if (!options.json) fmt::print("{} starts, {}\n", options.benchmark_starts, where);
  for (size_t m = 0; m < kMarks.size(); ++m) {
    std::sort(seconds[m].begin(), seconds[m].end());
    const double median = seconds[m][seconds[m].size() / 2], longest = seconds[m].back();
    json[kMarks[m].key] = {{"median_seconds", median}, {"longest_seconds", longest}};
    if (options.json) continue;
    const std::string wanted =
        kMarks[m].bound_seconds > 0 ? fmt::format(", wanted {:.0f} ms", kMarks[m].bound_seconds * 1e3) : "";
    fmt::print("{:<18} median {:>5.0f} ms, longest {:>5.0f} ms{}\n", kMarks[m].words, median * 1e3,
               longest * 1e3, wanted);
  }
  if (options.json) fmt::print("{}\n", json_text(json, 2));
}

}  // namespace shardlens
