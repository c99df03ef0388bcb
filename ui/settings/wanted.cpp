// Keeps settings that were sent and have not arrived yet: see wanted.h.
#include "ui/settings/wanted.h"

#include <algorithm>

#include "engine/runtime/snapshot.h"

namespace shardlens::ui {

const Settings& Wanted::settings(const Snapshot& snapshot) {
  if (chain_.empty()) return snapshot.settings;
  const auto arrived = std::find(chain_.rbegin(), chain_.rend(), snapshot.settings);
  // The last settings of the chain have arrived, or settings from elsewhere: nothing is on its way any more.
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
