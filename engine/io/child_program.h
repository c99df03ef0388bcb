// Another program that this one starts and waits for: ffmpeg for videos, bible for the sample text.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace shardlens {

class ChildProgram {
 public:
  /// Descriptors that the program gets; -1: none. `input` and `output` are its standard streams, which are
  /// /dev/null otherwise. `file` becomes its descriptor kFile.
  struct Streams {
    int input = -1, output = -1, file = -1;
  };
  static constexpr int kFile = 3;

  /// Starts `words[0]`, which is looked for in PATH, with the other words as its arguments. It gets its own
  /// process group, so that Ctrl+C reaches only this program. Throws a request Error with the text
  /// `not_installed` if there is no such program, and a run Error with the reason if it cannot be started.
  ChildProgram(std::vector<std::string> words, Streams streams, const std::string& not_installed);
  ~ChildProgram();  ///< ends the program if it still runs
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  /// Waits for the program's end. Returns why it failed, with what it wrote to its standard error; empty if
  /// it succeeded.
  std::string wait();
  /// Ends the program if it still runs.
  void end();

 private:
  std::string said() const;

  int messages_ = -1;  ///< a file without a name for its standard error
  pid_t process_ = -1;
};

}  // namespace shardlens
