// What only a running program needs: locks, links, files and folders it works in. Whoever makes one removes
// it; where a signal ends the program nobody's destructor runs, and this list says what is to go.
#pragma once

#include <string>

namespace shardlens {

/// For as long as it lives, `path`, a file or a folder that is empty by then, goes with the program when a
/// signal ends it (app/command_line/signals.h). Any thread.
class Fleeting {
 public:
  explicit Fleeting(const std::string& path);
  ~Fleeting();
  Fleeting(const Fleeting&) = delete;
  Fleeting& operator=(const Fleeting&) = delete;

 private:
  size_t slot_;
};

/// Removes all of them. Calls nothing that a signal's handler may not.
void remove_fleeting();

}  // namespace shardlens
