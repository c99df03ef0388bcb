// The plug-in that computes on GPUs, libshardlens_cuda.so: built where CUDA's toolkit is, opened when GPUs
// are asked for or about, and missing without harm. Nothing here knows CUDA.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/comm/comm.h"
#include "engine/comm/host_meeting.h"
#include "engine/device/device.h"
#include "engine/device/gpu_facts.h"

namespace shardlens {

class GpuPlugin {
 public:
  virtual ~GpuPlugin() = default;

  /// Asks the driver and the libraries. Never throws: what is not there is said.
  virtual GpuFacts facts() = 0;
  virtual std::unique_ptr<Device> make_device(int gpu, bool tf32) = 0;  ///< tf32: as Settings::tf32
  /// Communicators of ranks that share a GPU, threads of this process; `reason` is for CommunicatorInfo, and
  /// ranks wait for one another for `patience_seconds`, the first microseconds of it awake where `spins`: so
  /// where all threads that compute can have a core each.
  virtual std::vector<std::unique_ptr<Communicator>> make_local_cuda_group(int ranks,
                                                                           const std::string& reason,
                                                                           double patience_seconds,
                                                                           bool spins) = 0;
  /// By NCCL, for threads of this process. They meet for the first time when they are attached to devices.
  /// `ranks_per_gpu`: the most that are on one GPU, of all ranks.
  virtual std::vector<std::unique_ptr<Communicator>> make_nccl_group(int ranks, int ranks_per_gpu,
                                                                     const std::string& reason,
                                                                     double patience_seconds, bool spins) = 0;
  /// By NCCL, this process's rank in a group of processes that meet in `meeting`.
  virtual std::unique_ptr<Communicator> make_nccl_rank(std::unique_ptr<HostMeeting> meeting,
                                                       int ranks_per_gpu, const std::string& reason,
                                                       double patience_seconds) = 0;
};

/// Opened the first time it is asked for; throws a request Error with the remedy, the same every time, where
/// it cannot be.
GpuPlugin& gpu_plugin();

/// What is known of GPUs, also where there is no plug-in: then why_no_gpu says so.
GpuFacts gpu_facts();

}  // namespace shardlens
