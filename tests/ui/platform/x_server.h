// An X server of a test's own, so that its keyboard and its clipboard are nobody else's.
#pragma once

#include <sys/types.h>

#include <string>

namespace shardlens {

/// While it lives, DISPLAY names it.
class XServer {
 public:
  XServer();
  ~XServer();
  XServer(const XServer&) = delete;
  XServer& operator=(const XServer&) = delete;

  /// False: there is no Xvfb.
  bool is_there() const { return !display_.empty(); }
  /// Sets the keyboard's layout: "fr". False: there is no setxkbmap, or no such layout.
  bool set_layout(const std::string& layout) const;

 private:
  pid_t server_ = 0;
  std::string display_, before_;
};

}  // namespace shardlens
