// The settings that were run, so that a change can be undone and redone.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/config/settings.h"

namespace shardlens::ui {

class SettingsHistory {
 public:
  /// Call it when `settings` are run. `grip` identifies one press of the mouse button and is 0 if no button
  /// is pressed: all changes during one drag count as one change.
  void ran(const Settings& settings, double grip);

  size_t at() const { return at_; }  ///< the index of the present settings
  bool can_undo() const { return at_ > 0; }
  bool can_redo() const { return at_ + 1 < run_.size(); }
  /// True if undo() would return `settings`.
  bool would_undo_to(const Settings& settings) const { return can_undo() && run_[at_ - 1] == settings; }
  /// Return the settings to run now. Call them only if can_undo() or can_redo().
  const Settings& undo() { return run_[--at_]; }
  const Settings& redo() { return run_[++at_]; }

 private:
  std::vector<Settings> run_;  ///< in the order they were run
  size_t at_ = 0;              ///< index of the present settings; later ones were undone
  double grip_ = 0;
};

}  // namespace shardlens::ui
