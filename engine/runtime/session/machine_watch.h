// What the machine itself tells of its memory and its GPUs, beside what a plan counts: asked for on a thread
// of its own, for a driver may take its time, and nobody who draws waits for it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/config/clock.h"
#include "engine/device/gpu_facts.h"

namespace shardlens {

/// What this process may use of the machine, as the operating system and the driver say.
struct MachineFacts {
  bool known = false;         ///< nothing was asked for yet
  int64_t memory_bytes = 0;   ///< of the machine, or less where this process may not have all of it
  int64_t free_bytes = 0;     ///< of it, what can still be had
  int64_t process_bytes = 0;  ///< resident of this process: its ranks' arenas and everything else
  GpuFacts gpus;
};

/// Asks now. Never throws: what is not known is 0, or said.
MachineFacts ask_machine();

class MachineWatch {
 public:
  MachineWatch();
  ~MachineWatch();
  MachineWatch(const MachineWatch&) = delete;
  MachineWatch& operator=(const MachineWatch&) = delete;

  /// Asks again where the last answer is older than `oldest_seconds`. Returns at once; any thread.
  void look(double oldest_seconds = 1);
  std::shared_ptr<const MachineFacts> facts() const;  ///< the newest answer; never null; any thread
  /// Blocks until what was asked for is answered, or `timeout_seconds` have passed; the newest answer.
  std::shared_ptr<const MachineFacts> wait_until_idle(double timeout_seconds) const;

 private:
  void main();

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::shared_ptr<const MachineFacts> facts_ = std::make_shared<MachineFacts>();
  double answered_seconds_ = 0;  ///< now_seconds() of the last answer
  bool wanted_ = false, closed_ = false;
  std::thread thread_;
};

}  // namespace shardlens
