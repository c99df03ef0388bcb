// The plug-in that computes on GPUs, libshardlens_cuda.so. It is built if CUDA's toolkit is found, and opened
// when a run or a question is about GPUs. Without it everything else works. This header does not need CUDA.
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

  /// Asks the driver and the libraries. Never throws; the facts include what is missing.
  virtual GpuFacts facts() = 0;
  virtual std::unique_ptr<Device> make_device(int gpu, bool tf32) = 0;  ///< tf32: as Settings::tf32
  /// Communicators of ranks that share a GPU and are threads of this process. `reason` goes into
  /// CommunicatorInfo. Ranks wait for each other for at most `patience_seconds`. With `spins` they do not
  /// sleep in the first microseconds; set it if each computing thread can have a core.
  virtual std::vector<std::unique_ptr<Communicator>> make_local_cuda_group(int ranks,
                                                                           const std::string& reason,
                                                                           double patience_seconds,
                                                                           bool spins) = 0;
  /// NCCL communicators of ranks that are threads of this process. They connect when they are attached to
  /// devices. `ranks_per_gpu`: the largest number of ranks on one GPU.
  virtual std::vector<std::unique_ptr<Communicator>> make_nccl_group(int ranks, int ranks_per_gpu,
                                                                     const std::string& reason,
                                                                     double patience_seconds, bool spins) = 0;
  /// The NCCL communicator of this process's rank in a group of processes, which connect through `meeting`.
  virtual std::unique_ptr<Communicator> make_nccl_rank(std::unique_ptr<HostMeeting> meeting,
                                                       int ranks_per_gpu, const std::string& reason,
                                                       double patience_seconds) = 0;
  /// Calls of libraries that were let go because they did not return, and have not yet.
  virtual int hanging_calls() const = 0;
};

/// Opens the plug-in at the first call. If that fails, this and every later call throw the same request Error
/// with the remedy.
GpuPlugin& gpu_plugin();

/// GpuPlugin::hanging_calls(), 0 if the plug-in was not opened. Any thread.
int hanging_gpu_calls();

/// Facts about the GPUs. Without the plug-in there are none, and why_no_gpu gives the reason.
GpuFacts gpu_facts();

}  // namespace shardlens
