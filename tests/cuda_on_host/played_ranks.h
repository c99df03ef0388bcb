// The devices and communicators of a rank team on simulated GPUs: one GPU per rank and NCCL, or one GPU and
// local_cuda.
#pragma once

#include <memory>
#include <vector>

#include "engine/comm/local_cuda.h"
#include "engine/comm/nccl.h"
#include "engine/device/cuda/cuda_device.h"
#include "engine/runtime/backend.h"

namespace shardlens {

class PlayedRanks final : public Backend {
 public:
  /// `shares`: one GPU; ranks wait for one another for `patience_seconds`.
  PlayedRanks(bool shares, double patience_seconds) : shares_(shares), patience_seconds_(patience_seconds) {}
  std::unique_ptr<Device> make_device(int rank, int) override { return make_cuda_device(shares_ ? 0 : rank); }
  std::vector<std::unique_ptr<Communicator>> make_group(int ranks, int) override {
    return shares_ || ranks == 1 ? make_local_cuda_group(ranks, "a test", patience_seconds_)
                                 : make_nccl_group(ranks, 1, "a test", patience_seconds_);
  }
  bool on_gpus() const override { return true; }

 private:
  const bool shares_;
  const double patience_seconds_;
};

}  // namespace shardlens
