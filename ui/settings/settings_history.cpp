// Keeps earlier and later settings: see settings_history.h.
#include "ui/settings/settings_history.h"

namespace shardlens::ui {

void SettingsHistory::ran(const Settings& settings, double grip) {
  if (!run_.empty() && settings == run_[at_])
    return;  // the same settings again, or those from undo() or redo()
  const bool goes_on = grip != 0 && grip == grip_ && can_undo() && !can_redo();
  grip_ = grip;
  if (!run_.empty()) run_.resize(goes_on ? at_ : at_ + 1);
  run_.push_back(settings);
  at_ = run_.size() - 1;
}

}  // namespace shardlens::ui
