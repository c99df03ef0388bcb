// Damages recordings at random and runs every reader on the result. Each must read the file or refuse it with
// a request Error that names the file, within seconds and without a large allocation.
//
//   recording_fuzz --seconds 60 [--seed N] SOUND.shardlens...
//   recording_fuzz --seed N --only I SOUND.shardlens...          one case of that run again
//
// This is our own driver, not a fuzzer guided by code coverage: random bytes hardly ever get past SQLite.
// Mistakes are found by changing values, JSON and schema through SQLite, which needs knowledge of a recording
// and no coverage. Every case depends only on the seed and its number. Cases run in a child process, so a
// crash, a sanitizer's report or a hang is noticed and named, and the case can be run again.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/record/chrome_trace.h"
#include "engine/record/diff.h"
#include "engine/record/history.h"
#include "engine/record/recording.h"
#include "engine/record/recording_csv.h"
#include "tests/fuzz/mutation.h"

// Read by the sanitizer's runtime at its start.
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=512:allocator_may_return_null=0:detect_leaks=0";
}
extern "C" const char* __ubsan_default_options() {
  return "print_stacktrace=1:halt_on_error=1";
}

namespace shardlens::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kLongestCase = std::chrono::seconds(30);
constexpr int64_t kPassesRead = 3;

struct Options {
  double seconds = 60;
  uint64_t seed = 0;
  int64_t only = -1;
  std::vector<std::string> seeds;
};

// What the child tells the parent, in memory they share.
struct Progress {
  std::atomic<int64_t> number{0};
  std::atomic<int64_t> refused{0};
  char harm[4096] = "";
};

// What the timeline reads, built anew where the file's own is not there.
void read_history(const std::string& path, const Recording& recording) {
  History history(path, std::make_shared<const Program>(recording.header().program));
  while (history.build_for(1) < 1) {
  }
  history.slice(0, history.end_ns(), 1000);
  history.slice(history.end_ns() / 2, history.end_ns() / 2 + 100'000, 1);
  for (const HistoryFind find :
       {HistoryFind::Step, HistoryFind::Collective, HistoryFind::SlowPass, HistoryFind::LongWait})
    history.find({.find = find, .text = "mlp"});
}

// Every reader, on the file as `info`, `export` and `diff` open it.
void read_all(const std::string& path, const Recording& sound, const std::string& scratch) {
  const Recording recording(path);
  const RecordingTotals totals = recording.totals();
  recording.started_unix_seconds();
  recording.high_water_bytes();
  const int64_t passes = std::min(totals.passes, kPassesRead);
  for (int64_t pass = 0; pass < passes; ++pass) {
    recording.pass(pass);
    recording.samples(pass);
    recording.parity(pass);
    recording.hashes(pass);
  }
  recording.notes();
  read_history(path, recording);
  for (const RecordedTable table :
       {RecordedTable::Steps, RecordedTable::Collectives, RecordedTable::Memory, RecordedTable::Metrics})
    write_csv(recording, table, 0, passes, scratch);
  write_chrome_trace(recording, 0, std::min<int64_t>(passes, 1), scratch);
  diff_recordings(recording, sound);
  diff_recordings(sound, recording);
}

void run_case(const Options& options, int64_t number, const std::vector<std::string>& files,
              const std::vector<std::unique_ptr<Recording>>& sound, const std::string& folder,
              Progress& progress) {
  std::seed_seq sequence{static_cast<uint32_t>(options.seed), static_cast<uint32_t>(options.seed >> 32),
                         static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32)};
  Random random(sequence);
  const size_t which = random() % files.size();
  const std::string path = folder + "/case.shardlens";
  for (const char* beside : {"", "-journal", "-wal", "-shm"}) fs::remove(path + beside);
  std::ofstream(path, std::ios::binary) << files[which];
  const std::string done = harm(path, random);
  std::strncpy(progress.harm, done.c_str(), sizeof progress.harm - 1);
  progress.number = number;
  try {
    read_all(path, *sound[which], folder + "/scratch");
  } catch (const Error& error) {
    ++progress.refused;
    const std::string message = error.what();
    if (error.kind() != ErrorKind::Request) throw std::runtime_error("not a request Error: " + message);
    if (message.find(path) == std::string::npos)
      throw std::runtime_error("does not name the file: " + message);
    if (message.size() > 2000) throw std::runtime_error("says too much: " + message);
  }
}

int child_main(const Options& options, const std::string& folder, Progress& progress) {
  std::vector<std::string> files;
  std::vector<std::unique_ptr<Recording>> sound;
  for (const std::string& seed : options.seeds) {
    std::ifstream file(seed, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    sound.push_back(std::make_unique<Recording>(seed));
  }
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  try {
    if (options.only >= 0) {
      run_case(options, options.only, files, sound, folder, progress);
      return 0;
    }
    for (int64_t number = 0; Clock::now() < end; ++number)
      run_case(options, number, files, sound, folder, progress);
  } catch (const std::exception& error) {
    fmt::print(stderr, "recording_fuzz: {}\n", error.what());
    return 1;
  }
  return 0;
}

// True when the child ended well.
bool watch(pid_t child, const Progress& progress) {
  int64_t last = -1;
  auto since = Clock::now();
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (progress.number != last) {
      last = progress.number;
      since = Clock::now();
    } else if (Clock::now() - since > kLongestCase) {
      fmt::print(stderr, "recording_fuzz: it hangs\n");
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Options read_options(int count, char** words) {
  Options options;
  options.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&] { return std::string(i + 1 < count ? words[++i] : "0"); };
    if (word == "--seconds")
      options.seconds = std::stod(value());
    else if (word == "--seed")
      options.seed = std::stoull(value());
    else if (word == "--only")
      options.only = std::stoll(value());
    else
      options.seeds.push_back(word);
  }
  if (options.seeds.empty()) throw std::runtime_error("give the recordings to begin with");
  return options;
}

int fuzz(const Options& options) {
  // Thousands of files a minute: in memory where there is such a place.
  const fs::path memory = "/dev/shm";
  const fs::path base = access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
  std::string folder = (base / "recording-fuzz-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder can be made for the cases");
  void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("no memory can be shared");
  auto* progress = new (shared) Progress;
  fmt::print("recording_fuzz: {} recordings, {} s, seed {}\n", options.seeds.size(), options.seconds,
             options.seed);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no child can be made");
  if (child == 0) {
    const int code = child_main(options, folder, *progress);
    std::fflush(nullptr);
    _exit(code);
  }
  if (!watch(child, *progress)) {
    fmt::print(
        stderr,
        "recording_fuzz: case {} failed, after: {}\nrecording_fuzz: {}/case.shardlens is what was read; "
        "again: --seed {} --only {}\n",
        progress->number.load(), progress->harm, folder, options.seed, progress->number.load());
    return 1;
  }
  fmt::print("recording_fuzz: {} cases, {} of them refused, none did harm\n", progress->number + 1,
             progress->refused.load());
  fs::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace shardlens::fuzz

int main(int count, char** words) {
  try {
    return shardlens::fuzz::fuzz(shardlens::fuzz::read_options(count, words));
  } catch (const std::exception& error) {
    fmt::print(stderr, "recording_fuzz: {}\n", error.what());
    return 2;
  }
}
