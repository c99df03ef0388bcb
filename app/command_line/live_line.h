// A line of a terminal that is drawn over again and again, to show that something goes on. It is there for
// somebody who watches: a file or a pipe gets none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

namespace shardlens::cli {

class LiveLine {
 public:
  /// On `out`; nothing is shown where that is no terminal, or under mpirun, which gives its processes a
  /// terminal of its own wherever it prints.
  explicit LiveLine(FILE* out);
  ~LiveLine() { clear(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  bool is_live() const { return live_; }
  size_t columns() const;  ///< of the terminal; where there is none, any number of them
  /// Whether the last line has stood for a while: who is quicker need not make another one.
  bool is_due() const;
  /// Draws over what was shown; what is wider than the terminal is cut off, since it could not be drawn over.
  void show(const std::string& text);
  void clear();  ///< takes away what was shown: other words can be printed
  void keep();   ///< leaves it where it is, with a line of its own

 private:
  FILE* out_;
  bool live_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point shown_at_;
};

}  // namespace shardlens::cli
