// The text that another program has in the clipboard. On X11 that program must answer; a stopped one never
// does, and GLFW would wait for it for ever. This waits a moment.
#pragma once

#include <chrono>
#include <string>

struct _XDisplay;

namespace shardlens {

class XClipboard {
 public:
  /// `display`: the connection of the window. The clipboard has its own one, so that no event of the window
  /// is lost while it waits.
  explicit XClipboard(_XDisplay* display) : window_display_(display) {}
  ~XClipboard();
  XClipboard(const XClipboard&) = delete;
  XClipboard& operator=(const XClipboard&) = delete;

  /// The program that has the clipboard: one of its windows; 0: none.
  unsigned long owner() const;
  /// Returns the clipboard's text; empty if it has none. Throws a run Error if its owner has not answered for
  /// kPatience; that owner is then not asked again for a while. Never call it if the owner is this program.
  std::string text();
  /// Asks the clipboard's manager to keep the text beyond the end of this program, which owns it; meanwhile
  /// `answer()` must handle the requests to this program. Returns after kPatience at the latest. Then this
  /// program no longer owns it.
  void hand_over(void (*answer)(double most_seconds));

  static constexpr std::chrono::milliseconds kPatience{1000};

 private:
  using Clock = std::chrono::steady_clock;
  class Request;

  _XDisplay* connection();

  _XDisplay* const window_display_;
  _XDisplay* own_ = nullptr;
  unsigned long silent_owner_ = 0;  ///< did not answer
  Clock::time_point asked_again_;   ///< not before then
};

}  // namespace shardlens
