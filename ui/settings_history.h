// What the settings were before they were changed by hand, so that a change can be taken back, and made
// again.
#pragma once

#include <vector>

#include "engine/config/settings.h"

namespace shardlens::ui {

class SettingsHistory {
 public:
  /// `before` give way to others. `grip` tells one hold of the mouse from another, and is 0 where it holds
  /// nothing: all that one drag changes is one change.
  void changed(const Settings& before, double grip);

  bool can_undo() const { return !past_.empty(); }
  bool can_redo() const { return !future_.empty(); }
  /// What is to stand in place of `now`; only where it can.
  Settings undo(const Settings& now);
  Settings redo(const Settings& now);

 private:
  std::vector<Settings> past_, future_;  ///< the last one is the nearest
  double grip_ = 0;
};

}  // namespace shardlens::ui
