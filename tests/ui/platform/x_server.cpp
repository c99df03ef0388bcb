// Starts Xvfb, which writes the number of its display into a pipe.
#include "tests/ui/platform/x_server.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace shardlens {

XServer::XServer() {
  if (const char* const display = std::getenv("DISPLAY")) before_ = display;
  int ends[2];
  if (pipe(ends) != 0) return;
  server_ = fork();
  if (server_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 1);
    dup2(nothing, 2);
    const std::string number = std::to_string(ends[1]);
    execlp("Xvfb", "Xvfb", "-displayfd", number.c_str(), "-screen", "0", "1280x800x24", "-nolisten", "tcp",
           "-noreset", nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string number;
  for (char one = 0; read(ends[0], &one, 1) == 1 && one != '\n';) number += one;
  close(ends[0]);
  if (number.empty()) return;
  display_ = ":" + number;
  setenv("DISPLAY", display_.c_str(), 1);
}

XServer::~XServer() {
  if (server_ > 0) {
    kill(server_, SIGKILL);
    waitpid(server_, nullptr, 0);
  }
  before_.empty() ? unsetenv("DISPLAY") : setenv("DISPLAY", before_.c_str(), 1);
}

bool XServer::set_layout(const std::string& layout) const {
  return std::system(("setxkbmap -display " + display_ + " " + layout).c_str()) == 0;
}

}  // namespace shardlens
