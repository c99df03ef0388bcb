// What the ranks of one run compute on and meet through, where they are threads of this process: a device a
// rank and communicators a group, and nothing above it knows more.
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

  /// For rank `rank` of all T x D, in its own thread; `threads` is how many a CPU's may have.
  virtual std::unique_ptr<Device> make_device(int rank, int threads) = 0;
  /// A group of `ranks`, one communicator each; `threads` is how many compute in all (make_local_group()).
  virtual std::vector<std::unique_ptr<Communicator>> make_group(int ranks, int threads) = 0;

  /// Whether the devices are GPUs.
  virtual bool on_gpus() const { return false; }
  /// Why the ranks compute here, where that is not what was asked for first; empty otherwise.
  virtual std::string why() const { return {}; }
};

/// Of rank `rank` as it was chosen for it; `threads` is how many a CPU's may have.
std::unique_ptr<Device> make_chosen_device(const Choice& choice, const Settings& settings, int rank,
                                           int threads);

/// What the settings choose. Throws a request Error with the remedy where that is not there.
std::shared_ptr<Backend> make_backend(const Settings& settings);

}  // namespace shardlens
