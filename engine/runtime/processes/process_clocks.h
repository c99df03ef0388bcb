// The clocks of a run's processes: the first process measures those of the others against its own.
#pragma once

#include <atomic>
#include <map>

#include "engine/comm/packets.h"
#include "engine/comm/patience.h"
#include "engine/comm/processes.h"

namespace shardlens {

class ProcessClocks {
 public:
  /// Both must outlive this.
  ProcessClocks(Processes& processes, const ProcessPatience& patience);

  /// In the first process: measures the clock of another one, which must answer(). Throws a LateProcess if it
  /// does not.
  void align(int process);
  /// In another process: answers until its clock is measured.
  void answer();

  /// Added to this process's clock. Any thread.
  const std::atomic<double>& offset_seconds() const { return offset_seconds_; }
  /// The largest difference between the clocks so far: half of the quickest ping, plus how far a clock had
  /// drifted when it was measured again. Only in the first process; any thread.
  double residual_seconds() const { return residual_seconds_; }

 private:
  Packet next_ping(int process);

  const ProcessPatience& patience_;
  PacketLine pings_;
  std::atomic<double> offset_seconds_{0};
  std::atomic<double> residual_seconds_{0};
  std::map<int, double> offset_of_;  ///< [process], seconds: its last measured offset; only in the first
                                     ///< process
};

}  // namespace shardlens
