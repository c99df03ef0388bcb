// The settings a person wants, between the change and the Snapshot that carries it. A Command takes a frame
// or more to come back; until then a panel must show and build on what was sent, or a quick second change
// would undo the first and a slider would jump under the mouse.
#pragma once

#include <vector>

#include "engine/config/settings.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {
struct Snapshot;  // engine/runtime/snapshot.h
}

namespace shardlens::ui {

class Wanted {
 public:
  /// What is wanted now: the newest settings sent while the snapshot still shows an older state of that same
  /// chain of changes, else the snapshot's own.
  const Settings& settings(const Snapshot& snapshot);

  /// Remembers `settings` as sent; the caller puts the SetSettings command into the outbox.
  void sent(const Snapshot& snapshot, const Settings& settings);

 private:
  std::vector<Settings> chain_;  ///< the snapshot's settings at the first change, then everything sent since
};

}  // namespace shardlens::ui
