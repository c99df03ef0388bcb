// The settings that a person wants, from the change until a Snapshot shows it. A Snapshot follows a Command a
// frame or more later. Until then panels must use the sent settings: otherwise a quick second change would
// undo the first, and a slider would jump under the mouse.
#pragma once

#include <deque>

#include "engine/config/settings.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {
struct Snapshot;  // engine/runtime/snapshot.h
}

namespace shardlens::ui {

class Wanted {
 public:
  /// Returns the wanted settings: the newest sent ones while the snapshot still shows an older state of the
  /// same chain of changes, else the snapshot's own.
  const Settings& settings(const Snapshot& snapshot);

  /// Remembers `settings` as sent; the caller puts the SetSettings command into the outbox.
  void sent(const Snapshot& snapshot, const Settings& settings);

 private:
  /// The snapshot's settings at the first change, then everything sent since. Not in a vector: who holds the
  /// wanted settings in a frame may send others, or the same again, and reads them on.
  std::deque<Settings> chain_;
};

}  // namespace shardlens::ui
