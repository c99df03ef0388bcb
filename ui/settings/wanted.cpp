// Settings in flight: see wanted.h.
#include "ui/settings/wanted.h"

#include <algorithm>

#include "engine/runtime/snapshot.h"

namespace shardlens::ui {

const Settings& Wanted::settings(const Snapshot& snapshot) {
  if (chain_.empty()) return snapshot.settings;
  const auto arrived = std::find(chain_.rbegin(), chain_.rend(), snapshot.settings);
  // The end of the chain has arrived, or somebody else's settings have: nothing is in flight any more.
  if (arrived == chain_.rbegin() || arrived == chain_.rend()) {
    chain_.clear();
    return snapshot.settings;
  }
  chain_.erase(chain_.begin(), arrived.base() - 1);
  return chain_.back();
}

void Wanted::sent(const Snapshot& snapshot, const Settings& settings) {
  if (chain_.empty()) chain_.push_back(snapshot.settings);
  chain_.push_back(settings);
}

}  // namespace shardlens::ui
