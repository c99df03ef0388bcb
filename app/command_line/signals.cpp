// Handles the signals that end a program.
#include "app/command_line/signals.h"

#include <cerrno>
#include <csignal>

#include "engine/io/signal_cleanup.h"

namespace shardlens::cli {
namespace {

std::atomic<int> told_by{0};

void remember(int signal) {
  told_by = signal;
  for (const int one : {SIGINT, SIGTERM, SIGHUP}) std::signal(one, end_by_signal);
}

// Not SIG_IGN, which programs that this one starts would inherit.
void go_on(int) {}

void handle(int signal, void (*handler)(int)) {
  struct sigaction now {};
  if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) std::signal(signal, handler);
}

}  // namespace

void end_by_signal(int signal) {
  const int kept = errno;  // the interrupted code goes on after this handler returns
  run_signal_cleanup();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  errno = kept;
}

void end_cleanly_at_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU}) handle(signal, end_by_signal);
  for (const int signal : {SIGPIPE, SIGXFSZ}) handle(signal, go_on);
}

const std::atomic<int>& end_in_order_at_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU}) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) std::signal(signal, remember);
  }
  return told_by;
}

}  // namespace shardlens::cli
