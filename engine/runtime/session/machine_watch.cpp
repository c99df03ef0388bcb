// Asks the machine about its memory and GPUs.
#include "engine/runtime/session/machine_watch.h"

#include <utility>

#include "engine/config/hardware.h"
#include "engine/config/hardware_file.h"
#include "engine/device/gpu_plugin.h"
#include "engine/runtime/resident.h"

namespace shardlens {

MachineFacts ask_machine() {
  MachineFacts facts;
  facts.known = true;
  facts.memory_bytes = find_hardware(kThisMachine).memory_bytes;
  facts.free_bytes = available_memory_bytes();
  facts.process_bytes = resident_bytes();
  facts.gpus = gpu_facts();
  return facts;
}

MachineWatch::MachineWatch() {
  worker_.start("the look at this machine", [this] { return turn(); });
}

MachineWatch::~MachineWatch() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  worker_.wake();
  worker_.join();
}

void MachineWatch::look(double oldest_seconds) {
  {
    const std::lock_guard lock(mutex_);
    if (wanted_ || (facts_->known && now_seconds() - answered_seconds_ < oldest_seconds)) return;
    wanted_ = true;
  }
  worker_.wake();
}

std::shared_ptr<const MachineFacts> MachineWatch::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

std::shared_ptr<const MachineFacts> MachineWatch::wait_until_idle(double timeout_seconds) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout_seconds, [this] { return !wanted_; });
  return facts_;
}

NextTurn MachineWatch::turn() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return kEnds;
    if (!wanted_) return kWhenWoken;
  }
  auto told = std::make_shared<const MachineFacts>(ask_machine());
  {
    const std::lock_guard lock(mutex_);
    facts_ = std::move(told);
    answered_seconds_ = now_seconds();
    wanted_ = false;
  }
  changed_.notify_all();
  return kWhenWoken;
}

}  // namespace shardlens
