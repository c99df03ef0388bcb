// What was run before, so that a change of the settings can be taken back, and made again.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/config/settings.h"

namespace shardlens::ui {

class SettingsHistory {
 public:
  /// `settings` are run in place of those before. `grip` tells one hold of the mouse from another, and is 0
  /// where it holds nothing: all that one drag changes is one change.
  void ran(const Settings& settings, double grip);

  bool can_undo() const { return at_ > 0; }
  bool can_redo() const { return at_ + 1 < run_.size(); }
  /// To run `settings` now is what undo() does.
  bool would_undo_to(const Settings& settings) const { return can_undo() && run_[at_ - 1] == settings; }
  /// What is to be run now; only where it can.
  const Settings& undo() { return run_[--at_]; }
  const Settings& redo() { return run_[++at_]; }

 private:
  std::vector<Settings> run_;  ///< one after the other
  size_t at_ = 0;              ///< of these what is run now; later ones were taken back
  double grip_ = 0;
};

}  // namespace shardlens::ui
