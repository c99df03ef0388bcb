// A line of a terminal that is drawn again and again to show progress. A file or a pipe gets no such line.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

namespace shardlens::cli {

class LiveLine {
 public:
  /// Draws on `out`, which is stdout or stderr. Shows nothing if is_terminal() is false for it
  /// (standard_streams.h).
  explicit LiveLine(FILE* out);
  ~LiveLine() { clear(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  bool is_live() const { return live_; }
  size_t columns() const;  ///< columns of the terminal; without a terminal the largest size_t
  /// True if the last line is old enough to be replaced, so a caller need not make lines more often.
  bool is_due() const;
  /// Replaces the line. Cuts off text that is wider than the terminal, because it could not be replaced
  /// later.
  void show(const std::string& text);
  void clear();  ///< removes the line, so that other text can be printed
  void keep();   ///< keeps the line and ends it with a line end

 private:
  void draw(const std::string& text);

  FILE* out_;
  bool live_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point shown_at_;
};

}  // namespace shardlens::cli
