// The run on this machine, also while a recording is shown in its place.
#pragma once

#include "engine/runtime/session/session.h"
#include "ui/view_state.h"

namespace shardlens::ui {

class OwnRun {
 public:
  /// `first`: the settings with which the studio was started. `begin`: the Session runs them at once, or
  /// waits.
  OwnRun(Session& session, const Settings& first, Session::Begin begin)
      : session_(session), first_(first), begun_(begin == Session::Begin::AtOnce) {}

  /// Runs other settings. Undo goes back to the earlier ones.
  void run(const Settings& settings, ViewState& view);
  /// Runs the first settings if nothing has run yet.
  void run_first(ViewState& view) {
    if (!begun_) run(first_, view);
  }
  bool begun() const { return begun_; }
  /// The Session was given a command.
  void set_begun() { begun_ = true; }

 private:
  Session& session_;
  const Settings first_;
  bool begun_;
};

}  // namespace shardlens::ui
