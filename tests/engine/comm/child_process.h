// A process that sleeps until it is ended. It stands for one process of a run.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/comm/departed.h"

namespace shardlens {

class ChildProcess {
 public:
  ChildProcess() {
    int ready[2] = {};
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const ProcessIdentity own = own_identity();
      if (write(ready[1], &own, sizeof own) != sizeof own) _exit(1);
      for (;;) pause();
    }
    EXPECT_EQ(read(ready[0], &identity_, sizeof identity_), static_cast<ssize_t>(sizeof identity_));
    close(ready[0]);
    close(ready[1]);
  }
  ~ChildProcess() { end(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  const ProcessIdentity& identity() const { return identity_; }  ///< as it sees itself

  /// Kills it, and asks for its end.
  void end() {
    if (ended_) return;
    ended_ = true;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
  ProcessIdentity identity_;
  bool ended_ = false;
};

}  // namespace shardlens
