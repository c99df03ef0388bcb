// The settings of before and after: see settings_history.h.
#include "ui/settings_history.h"

namespace shardlens::ui {
namespace {

Settings exchange(std::vector<Settings>& from, std::vector<Settings>& to, const Settings& now) {
  to.push_back(now);
  Settings other = from.back();
  from.pop_back();
  return other;
}

}  // namespace

void SettingsHistory::changed(const Settings& before, double grip) {
  const bool goes_on = grip != 0 && grip == grip_ && can_undo() && !can_redo();
  grip_ = grip;
  if (goes_on) return;
  past_.push_back(before);
  future_.clear();
}

Settings SettingsHistory::undo(const Settings& now) {
  return exchange(past_, future_, now);
}

Settings SettingsHistory::redo(const Settings& now) {
  return exchange(future_, past_, now);
}

}  // namespace shardlens::ui
