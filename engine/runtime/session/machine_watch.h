// Asks the operating system and the GPU driver about this machine's memory and GPUs, in addition to what a
// plan counts. A worker of its own asks, because a driver may be slow and drawing must not wait for it.
#pragma once

#include <memory>
#include <mutex>

#include "engine/base/clock.h"
#include "engine/base/worker.h"
#include "engine/device/gpu_facts.h"

namespace shardlens {

/// What this process may use of the machine, as the operating system and the driver report it.
struct MachineFacts {
  bool known = false;         ///< false: nothing was asked for yet
  int64_t memory_bytes = 0;   ///< of the machine, or less if this process may not have all of it
  int64_t free_bytes = 0;     ///< the part of it that is still available
  int64_t process_bytes = 0;  ///< resident bytes of this process: its ranks' arenas and everything else
  GpuFacts gpus;
};

/// Asks now. Never throws: unknown numbers are 0, and GpuFacts hold the reason.
MachineFacts ask_machine();

class MachineWatch {
 public:
  MachineWatch();
  ~MachineWatch();
  MachineWatch(const MachineWatch&) = delete;
  MachineWatch& operator=(const MachineWatch&) = delete;

  /// Asks again if the last answer is older than `oldest_seconds`. Returns at once; any thread.
  void look(double oldest_seconds = 1);
  std::shared_ptr<const MachineFacts> facts() const;  ///< the newest answer; never null; any thread
  /// Blocks until the answer has come, or `timeout_seconds` have passed; returns the newest answer.
  std::shared_ptr<const MachineFacts> wait_until_idle(double timeout_seconds) const;

 private:
  NextTurn turn();

  mutable std::mutex mutex_;
  mutable WaitForWorkers changed_;
  std::shared_ptr<const MachineFacts> facts_ = std::make_shared<MachineFacts>();
  double answered_seconds_ = 0;  ///< now_seconds() of the last answer
  bool wanted_ = false, closed_ = false;
  BackgroundWorker worker_;
};

}  // namespace shardlens
