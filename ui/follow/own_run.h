// What this machine runs, whether or not a recording is shown in its place.
#pragma once

#include "engine/runtime/session/session.h"
#include "ui/view_state.h"

namespace shardlens::ui {

class OwnRun {
 public:
  /// `first`: the settings the studio was started with. The Session runs them at once or waits, as `begin`
  /// says.
  OwnRun(Session& session, const Settings& first, Session::Begin begin)
      : session_(session), first_(first), begun_(begin == Session::Begin::AtOnce) {}

  /// Runs other settings. Undo brings back the ones before.
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
