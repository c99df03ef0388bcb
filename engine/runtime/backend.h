// The devices and communicators of one run whose ranks are threads of this process: a device for each rank
// and communicators for each group. The code above it knows nothing more about them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/comm/comm.h"
#include "engine/config/settings.h"
#include "engine/device/device.h"
#include "engine/runtime/choose.h"

namespace shardlens {

class Backend {
 public:
  virtual ~Backend() = default;

  /// Makes the device of world rank `rank`, in that rank's own thread; `threads`: how many threads a CPU
  /// device may use.
  virtual std::unique_ptr<Device> make_device(int rank, int threads) = 0;
  /// Makes a group of `ranks`, one communicator for each; `threads`: how many threads compute in all
  /// (make_local_group()).
  virtual std::vector<std::unique_ptr<Communicator>> make_group(int ranks, int threads) = 0;

  /// True if the devices are GPUs.
  virtual bool on_gpus() const { return false; }
  /// Why the ranks compute here, if this is not what was asked for first; empty otherwise.
  virtual std::string why() const { return {}; }
};

/// Makes the device that was chosen for world rank `rank`; `threads`: how many threads a CPU device may use.
std::unique_ptr<Device> make_chosen_device(const Choice& choice, const Settings& settings, int rank,
                                           int threads);

/// Call it before the first group of ranks that share GPUs by NCCL.
void let_share(const Choice& choice);

/// Makes what the settings choose. Throws a request Error with the remedy if that is not available.
std::shared_ptr<Backend> make_backend(const Settings& settings);

}  // namespace shardlens
