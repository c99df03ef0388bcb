// A list of what only a running program needs: locks, links, temporary files and folders. Normally the object
// that makes one removes it. If a signal ends the program, no destructor runs, and this list says what must
// be removed.
#pragma once

#include <string>

namespace shardlens {

/// While this object lives, `path` is removed if a signal ends the program (app/command_line/signals.h).
/// `path` is a file, or a folder that is empty by then. May be used from any thread.
class Fleeting {
 public:
  explicit Fleeting(const std::string& path);
  ~Fleeting();
  Fleeting(const Fleeting&) = delete;
  Fleeting& operator=(const Fleeting&) = delete;

 private:
  size_t slot_;
};

/// Removes all of them. Calls only functions that a signal handler may call.
void remove_fleeting();

}  // namespace shardlens
