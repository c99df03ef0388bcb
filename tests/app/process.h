// Starts a built program as a user does and collects its output.
#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace shardlens {

struct Ended {
  int code = -1;
  std::string out, err;
};

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs `program` with `arguments` (a shell's words) to its end.
inline Ended run_program(const std::string& program, const std::string& arguments) {
  const std::string err_path = ::testing::TempDir() + "program_stderr_" + std::to_string(getpid());
  const std::string command = program + " " + arguments + " 2>" + err_path;
  Ended ended;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return ended;
  std::array<char, 4096> buffer;
  for (size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) ended.out.append(buffer.data(), n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  ended.err = slurp(err_path);
  std::filesystem::remove(err_path);
  return ended;
}

/// Runs shardlens-cli.
inline Ended run_cli(const std::string& arguments) {
  return run_program(SHARDLENS_CLI_PROGRAM, arguments);
}

/// Begins shardlens-cli; it ends with whoever began it.
inline pid_t begin_cli(const std::string& arguments) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(one, SIG_DFL);  // a ctest behind & or nohup
  const std::string command =
      std::string("exec ") + SHARDLENS_CLI_PROGRAM + " " + arguments + " >/dev/null 2>&1";
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  _exit(127);
}

/// Kills it. False: it had ended by itself.
inline bool was_killed(pid_t begun) {
  kill(begun, SIGKILL);
  int status = 0;
  waitpid(begun, &status, 0);
  return WIFSIGNALED(status);
}

/// Runs the studio without a display.
inline Ended draw_offscreen(const std::string& arguments) {
  return run_program(std::string("env -u DISPLAY ") + SHARDLENS_PROGRAM, arguments);
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What both programs make little of.
inline constexpr const char* kTinyLayer = "--model gpt2-tiny --layer --batch 2 --seq 16 --threads 1 ";
inline constexpr const char* kTinyModel = " --model gpt2-tiny --tp 2 --batch 1 --seq 8 ";

}  // namespace shardlens
