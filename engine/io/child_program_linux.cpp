// Starts a program without a shell in between, so that the reason is known if it cannot be started.
#include "engine/io/child_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "engine/base/error.h"
#include "engine/io/file_problem.h"

extern char** environ;

namespace shardlens {
namespace {

constexpr size_t kMostSaidBytes = 4096;

// Returns 0 or the reason why the program was not started.
int start(std::vector<std::string>& words, ChildProgram::Streams streams, int messages, pid_t& process) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto give = [&actions](int from, int to, int access) {
    if (from >= 0)
      posix_spawn_file_actions_adddup2(&actions, from, to);
    else
      posix_spawn_file_actions_addopen(&actions, to, "/dev/null", access, 0);
  };
  give(streams.input, STDIN_FILENO, O_RDONLY);
  give(streams.output, STDOUT_FILENO, O_WRONLY);
  give(messages, STDERR_FILENO, O_WRONLY);
  if (streams.file >= 0) posix_spawn_file_actions_adddup2(&actions, streams.file, ChildProgram::kFile);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int reason = posix_spawnp(&process, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return reason;
}

}  // namespace

ChildProgram::ChildProgram(std::vector<std::string> words, Streams streams, const std::string& not_installed)
    : messages_(memfd_create(words[0].c_str(), MFD_CLOEXEC)) {
  const int reason = messages_ < 0 ? errno : start(words, streams, messages_, process_);
  if (reason == 0) return;
  process_ = -1;
  if (messages_ >= 0) close(messages_);
  if (reason == ENOENT) throw request_error(not_installed);
  throw run_error(
      fmt::format("cannot start the program {}: {}", words[0], reason_and_remedy(reason, Refused::Start)));
}

ChildProgram::~ChildProgram() {
  end();
  close(messages_);
}

void ChildProgram::end() {
  if (process_ > 0) kill(process_, SIGKILL);
  wait();
}

std::string ChildProgram::said() const {
  std::string said(kMostSaidBytes, '\0');
  const ssize_t length = pread(messages_, said.data(), said.size(), 0);
  said.resize(length > 0 ? static_cast<size_t>(length) : 0);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said;
}

std::string ChildProgram::wait() {
  int status = 0;
  while (process_ > 0 && waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (status == 0) return {};
  std::string why = said();
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    why += fmt::format("{}signal {} ended it: {}", why.empty() ? "" : "; ", signal,
                       signal == SIGXFSZ ? reason_and_remedy(EFBIG, Refused::Write) : strsignal(signal));
  }
  return why.empty() ? "it ended without saying why" : why;
}

}  // namespace shardlens
