// Which worker may run something large. Where workers take turns, all share one thread and one small memory:
// two runs side by side would take as long as one after the other, and need the memory of both.
#pragma once

namespace shardlens {

/// A worker's part in this. Among threads everybody may run at any time.
class OneRun {
 public:
  OneRun() = default;
  ~OneRun() { end(); }
  OneRun(const OneRun&) = delete;
  OneRun& operator=(const OneRun&) = delete;

  /// True if nobody else runs: from now on this worker does, until end(). Otherwise ask in a later turn.
  bool may_begin();
  void end();
};

}  // namespace shardlens
