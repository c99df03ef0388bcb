// What is known of this machine's GPUs and of the libraries that use them, without running anything on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardlens {

/// What every rank's device keeps for its operations and for the library of products to work in.
inline constexpr int64_t kGpuScratchBytes = int64_t{64} << 20;

struct Gpu {
  int number = 0;            ///< as the driver counts them
  std::string name;          ///< "NVIDIA H200"
  int major = 0, minor = 0;  ///< compute capability
  int multiprocessors = 0;   ///< 0: not known
  int64_t memory_bytes = 0;
  int64_t used_bytes = -1;  ///< of it, by all processes; -1: the driver does not say
  std::string bus;          ///< PCI address
  /// What it had less once this process's first device on it was made, which brings along CUDA's context; -1:
  /// there has been none yet, or the driver does not say.
  int64_t context_bytes = -1;
};

/// How two GPUs reach each other's memory.
struct GpuLink {
  int from = 0, to = 0;  ///< numbers, from < to
  std::string kind;      ///< "NVLink", "PCIe", or "through the host"
};

struct GpuFacts {
  std::vector<Gpu> gpus;
  std::vector<GpuLink> links;
  std::string why_no_gpu;                 ///< a sentence with a remedy; empty when there are GPUs
  std::string driver, runtime, cublaslt;  ///< versions; empty where they are not there
  int nccl_version = 0;                   ///< as NCCL numbers itself, 22809 for 2.28.9; 0: not there
  std::string why_no_nccl;                ///< a sentence with a remedy
};

/// The oldest compute capability that the plug-in's kernels are compiled for (engine/device/cuda).
inline constexpr int kLeastComputeMajor = 8;
/// Takes away the GPUs that are older; where none is left, says which there are.
void leave_out_old_gpus(GpuFacts& facts);

}  // namespace shardlens
