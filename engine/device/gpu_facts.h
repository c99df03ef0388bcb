// Facts about this machine's GPUs and the libraries that use them. Finding them runs nothing on a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardlens {

/// The scratch that each rank's device allocates for its operations and for cuBLASLt.
inline constexpr int64_t kGpuScratchBytes = int64_t{64} << 20;

struct Gpu {
  int number = 0;            ///< in the driver's order
  std::string name;          ///< "NVIDIA H200"
  int major = 0, minor = 0;  ///< compute capability
  int multiprocessors = 0;   ///< 0: not known
  int64_t memory_bytes = 0;
  int64_t used_bytes = -1;  ///< by all processes; -1: the driver does not report it
  std::string bus;          ///< PCI address
  bool mps = false;         ///< NVIDIA's MPS joins the processes that use it
  /// The memory that this process's first device on the GPU took, with CUDA's context. -1: there is no device
  /// yet, or the driver does not report it.
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
  std::string why_no_gpu;                 ///< a sentence with a remedy; empty if there are GPUs
  std::string driver, runtime, cublaslt;  ///< versions; empty: not found
  int nccl_version = 0;                   ///< in NCCL's own form, 22809 for 2.28.9; 0: not found
  std::string why_no_nccl;                ///< a sentence with a remedy
};

/// The oldest compute capability that the plug-in's kernels are compiled for (engine/device/cuda).
inline constexpr int kLeastComputeMajor = 8;
/// Removes older GPUs. If none is left, `why_no_gpu` lists them.
void leave_out_old_gpus(GpuFacts& facts);

}  // namespace shardlens
