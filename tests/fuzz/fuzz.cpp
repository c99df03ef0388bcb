// Damages files at random and runs every reader on the result. Each must read the files or refuse them with a
// request Error that names them in plain words, within seconds and without a large allocation.
//
//   reader_fuzz --seconds 60 [--seed N] [--form NAME] RECORDING...
//   reader_fuzz --seed N --only I RECORDING...                       one case of that run again
//   reader_fuzz --seed N --from I RECORDING...                       that case and those after it
//
// This is our own driver, not a fuzzer guided by code coverage: random bytes hardly ever get past a parser.
// Mistakes are found by changing values, keys, fields and lengths in files that stay valid otherwise, which
// needs knowledge of the forms and no coverage. Every case depends only on the seed and its number. Cases run
// in a child process, so a crash, a sanitizer's report or a hang is noticed and named, and another child goes
// on with the next case.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/io/output_file.h"
#include "tests/fuzz/form.h"
#include "tests/fuzz/watch.h"

// Read by the sanitizer's runtime at its start.
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=512:allocator_may_return_null=0:detect_leaks=0:hard_rss_limit_mb=3000:"
         "handle_abort=1";  // a case that hangs is told to abort, and so shows where it is
}
extern "C" const char* __ubsan_default_options() {
  return "print_stacktrace=1:halt_on_error=1";
}

namespace shardlens::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kLongestWait = std::chrono::seconds(120);  // on a machine where others compute, too
// With sanitizers and others computing: for any files, and more for each MiB of them. A part repeated
// thousands of times makes a text of 2 MiB, and learning a vocabulary from it takes 3 s without sanitizers.
constexpr double kMostProcessorSeconds = 10, kMoreSecondsAMebibyte = 10;
constexpr double kHangSeconds = 60;
constexpr auto kAbortTime = std::chrono::seconds(20);  // for the stack of a case that hangs
constexpr int64_t kMostBytes = int64_t{256} << 20;
constexpr size_t kShownText = 600;

struct Options {
  double seconds = 60;
  uint64_t seed = 0;
  int64_t only = -1, from = 0;
  std::string form;
  std::vector<std::string> recordings;
};

// What the child tells the parent, in memory they share.
struct Progress {
  static constexpr size_t kMostForms = 32;
  std::atomic<int64_t> number{0};
  std::array<std::atomic<int64_t>, kMostForms> tried{}, refused{};  // by form
  char harm[4096] = "";
  char wrong[4096] = "";  // what a case did that is neither a crash nor a hang
};

void tell(char (&place)[4096], const std::string& text) {
  std::strncpy(place, text.c_str(), sizeof place - 1);
}

double mebibytes_in(const std::string& folder) {
  double bytes = 0;
  std::error_code none;  // a damaged folder has links that lead nowhere
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file(none)) bytes += static_cast<double>(entry.file_size(none));
  return bytes / (1 << 20);
}

double processor_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

class Fuzzer {
 public:
  explicit Fuzzer(const Options& options);
  ~Fuzzer();
  Fuzzer(const Fuzzer&) = delete;
  Fuzzer& operator=(const Fuzzer&) = delete;

  /// True if every case ended well.
  bool run();

 private:
  struct Finding {
    int64_t first = 0, count = 0;
    std::string harm, what;
  };

  size_t form_of(int64_t number) const;
  bool is_asked_for(int64_t number) const {
    return options_.form.empty() || forms_[form_of(number)]->name() == options_.form;
  }
  void run_case(int64_t number);
  int run_cases(int64_t first);
  /// What went wrong; empty: the child is done.
  std::string watch(pid_t child);
  void report(const std::string& what);
  void print_counts() const;
  std::string written() const;

  const Options options_;
  const Clock::time_point end_;
  std::string folder_;
  std::vector<std::unique_ptr<Form>> forms_;
  Progress* progress_ = nullptr;
  int errors_ = -1;  // a file in memory, for what cases write to stderr
  std::map<std::string, Finding> findings_;
};

Fuzzer::Fuzzer(const Options& options)
    : options_(options),
      end_(Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds))) {
  // Thousands of files a minute: in memory where there is such a place.
  const fs::path memory = "/dev/shm";
  const fs::path base = access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
  folder_ = (base / "reader-fuzz-XXXXXX").string();
  if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no folder can be made for the cases");
  setenv("TMPDIR", folder_.c_str(), 1);
  setenv("XDG_CACHE_HOME", (folder_ + "/cache").c_str(), 1);  // where the gallery is unpacked
  void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  errors_ = memfd_create("stderr of cases", MFD_CLOEXEC);
  if (shared == MAP_FAILED || errors_ < 0) throw std::runtime_error("no memory can be shared");
  progress_ = new (shared) Progress;
  const std::string scratch = folder_ + "/scratch";
  fs::create_directory(scratch);
  forms_ = files(scratch);
  if (!options_.recordings.empty()) forms_.push_back(recordings(options_.recordings));
  const auto is_named = [&](const auto& form) {
    return options_.form.empty() || form->name() == options_.form;
  };
  if (std::none_of(forms_.begin(), forms_.end(), is_named))
    throw std::runtime_error("there is no form " + options_.form);
}

Fuzzer::~Fuzzer() {
  close(errors_);
  std::error_code ignored;
  if (options_.only < 0) fs::remove_all(folder_, ignored);
}

// Recordings, whose readers are the most, have every fourth case.
size_t Fuzzer::form_of(int64_t number) const {
  const auto n = static_cast<size_t>(number);
  if (options_.recordings.empty()) return n % forms_.size();
  return n % 4 == 3 ? forms_.size() - 1 : (n - n / 4) % (forms_.size() - 1);
}

void Fuzzer::run_case(int64_t number) {
  std::seed_seq sequence{static_cast<uint32_t>(options_.seed), static_cast<uint32_t>(options_.seed >> 32),
                         static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32)};
  Random random(sequence);
  const size_t which = form_of(number);
  Form& form = *forms_[which];
  const std::string folder = folder_ + "/case";
  fs::remove_all(folder);
  fs::create_directory(folder);
  tell(progress_->harm, "");
  progress_->number = number;
  ++progress_->tried[which];
  tell(progress_->harm, form.damage(folder, random));
  const double most_seconds = kMostProcessorSeconds + kMoreSecondsAMebibyte * mebibytes_in(folder);
  begin_memory();
  const double before = processor_seconds();
  try {
    form.read(folder);
  } catch (const Error& error) {
    ++progress_->refused[which];
    const std::string message = error.what();
    if (error.kind() != ErrorKind::Request) throw std::runtime_error("it is not a request Error: " + message);
    if (const std::string wrong = wrong_with(message, folder_); !wrong.empty())
      throw std::runtime_error(fmt::format("the message {}: {}", wrong, message));
  } catch (const fs::filesystem_error& error) {
    // The programs say the file and the system's reason, and end with 2, as for a request Error.
    ++progress_->refused[which];
    if (error.path1().string().find(folder_) == std::string::npos)
      throw std::runtime_error(fmt::format("the message does not name the file: {}", error.what()));
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("it is no Error, but \"{}\"", error.what()));
  }
  const double seconds = processor_seconds() - before;
  if (seconds > most_seconds) throw std::runtime_error(fmt::format("it took {:.0f} seconds", seconds));
  if (most_bytes_held() > kMostBytes)
    throw std::runtime_error(fmt::format("it held {} MiB", most_bytes_held() >> 20));
  if (lseek(errors_, 0, SEEK_END) > 0) throw std::runtime_error("it wrote to stderr: " + written());
}

// In the child. Ends at the first case that goes wrong.
int Fuzzer::run_cases(int64_t first) {
  dup2(errors_, STDERR_FILENO);
  watch_memory();
  const int64_t last = options_.only >= 0 ? options_.only + 1 : INT64_MAX;
  for (int64_t number = first; number < last && (options_.only >= 0 || Clock::now() < end_); ++number) {
    if (options_.only < 0 && !is_asked_for(number)) continue;
    try {
      run_case(number);
    } catch (const std::exception& error) {
      tell(progress_->wrong, error.what());
      return 1;
    }
  }
  return 0;
}

std::string Fuzzer::written() const {
  std::string text(static_cast<size_t>(std::max<off_t>(0, lseek(errors_, 0, SEEK_END))), '\0');
  const ssize_t got = pread(errors_, text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, got)));
  return text;
}

// What the process has computed until now. A case that ends is measured in the child; this is for one that
// does not end.
double processor_seconds(pid_t child) {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// By a signal of which a sanitizer shows the stack; by one that ends it surely, if that takes too long.
void end_hanging(pid_t child) {
  kill(child, SIGABRT);
  for (const auto end = Clock::now() + kAbortTime; Clock::now() < end;) {
    if (waitpid(child, nullptr, WNOHANG) == child) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

std::string Fuzzer::watch(pid_t child) {
  int64_t last = -1;
  auto since = Clock::now();
  double computed_before = 0;
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
      if (progress_->wrong[0] != 0) return progress_->wrong;
      return WIFSIGNALED(status) ? fmt::format("it ended by signal {}", WTERMSIG(status)) : "it crashed";
    }
    if (progress_->number != last) {
      last = progress_->number;
      since = Clock::now();
      computed_before = processor_seconds(child);
    } else if (Clock::now() - since > kLongestWait ||
               processor_seconds(child) - computed_before > kHangSeconds) {
      const std::string what = fmt::format("it hangs: {:.0f} s, of which it computed {:.0f} s",
                                           std::chrono::duration<double>(Clock::now() - since).count(),
                                           processor_seconds(child) - computed_before);
      end_hanging(child);
      return what;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// A finding is told when it is met first. Others of its kind are counted.
void Fuzzer::report(const std::string& what) {
  std::string text = what;
  const std::string errors = written();
  if (errors.find("Sanitizer") != std::string::npos || errors.find("runtime error") != std::string::npos ||
      what.starts_with("it ended"))
    text += "\n" + errors;
  const std::string& form = forms_[form_of(progress_->number)]->name();
  // What tells two findings apart: all but names, numbers and addresses, and the place of a crash.
  std::string key = form + ": " + text.substr(0, 4096);
  for (const char* varies : {"\"[^\"]*\"", "/[^ :,]*", "[0-9a-fx]*[0-9][0-9a-fx]*", "[^\x20-\x7e]"})
    key = std::regex_replace(key, std::regex(varies), "_");
  Finding& finding = findings_[key.substr(0, 160)];
  if (++finding.count > 1) return;
  finding = {progress_->number, 1, progress_->harm, escaped(what, kShownText)};
  fmt::print("\n{} case {}, damaged: {}\n  {}\n  again: --seed {} --only {}\n", form, finding.first,
             escaped(finding.harm, kShownText), finding.what, options_.seed, finding.first);
  if (text.size() > what.size()) fmt::print("{}\n", errors.substr(0, 6000));
  std::fflush(stdout);
}

void Fuzzer::print_counts() const {
  fmt::print("\n{:<16} {:>9} {:>9}\n", "form", "cases", "refused");
  int64_t tried = 0;
  for (size_t i = 0; i < forms_.size(); ++i) {
    fmt::print("{:<16} {:>9} {:>9}\n", forms_[i]->name(), progress_->tried[i].load(),
               progress_->refused[i].load());
    tried += progress_->tried[i];
  }
  fmt::print("reader_fuzz: {} cases, {}\n", tried,
             findings_.empty() ? "none did harm" : fmt::format("{} kinds of findings", findings_.size()));
  for (const auto& [key, finding] : findings_)
    fmt::print("{:>6} x {} --only {}\n", finding.count, escaped(key, 160), finding.first);
}

bool Fuzzer::run() {
  fmt::print("reader_fuzz: {} forms, {} s, seed {}\n", forms_.size(), options_.seconds, options_.seed);
  int64_t next = std::max(options_.from, options_.only);
  for (;;) {
    std::fflush(stdout);
    tell(progress_->wrong, "");
    if (ftruncate(errors_, 0) != 0) throw std::runtime_error("a file in memory cannot be cut");
    lseek(errors_, 0, SEEK_SET);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no child can be made");
    if (child == 0) _exit(run_cases(next));
    const std::string wrong = watch(child);
    if (wrong.empty()) break;
    report(wrong);
    if (options_.only >= 0) break;
    next = progress_->number + 1;
  }
  if (options_.only >= 0)
    fmt::print("{}\ndamaged: {}\nthe files: {}/case\n", findings_.empty() ? "the case did no harm" : "",
               escaped(progress_->harm, kShownText), folder_);
  else
    print_counts();
  return findings_.empty();
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
    else if (word == "--from")
      options.from = std::stoll(value());
    else if (word == "--form")
      options.form = value();
    else
      options.recordings.push_back(word);
  }
  return options;
}

}  // namespace
}  // namespace shardlens::fuzz

int main(int count, char** words) {
  try {
    shardlens::set_existing_outputs(shardlens::Existing::Replaced);  // cases write the same files again
    return shardlens::fuzz::Fuzzer(shardlens::fuzz::read_options(count, words)).run() ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "reader_fuzz: {}\n", error.what());
    return 2;
  }
}
