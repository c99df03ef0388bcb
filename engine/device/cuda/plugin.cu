// The entry of the GPU plug-in: facts about GPUs, devices on them, and groups of ranks.
#include <cublasLt.h>

#include <map>
#include <mutex>

#include "engine/comm/local_cuda.h"
#include "engine/comm/nccl.h"
#include "engine/comm/uncertain_calls.h"
#include "engine/device/cuda/nvml.h"
#include "engine/device/cuda/operation.cuh"
#include "engine/device/gpu_plugin.h"

namespace shardlens {

namespace {

// CUDA reports a little less than the driver for a whole board, and at most half for a part of one.
constexpr double kWholeBoard = 0.9;

// 13000 is 13.0
std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string bus_of(int gpu) {
  char text[32] = {};
  return cudaDeviceGetPCIBusId(text, sizeof text, gpu) == cudaSuccess ? text : "";
}

bool is_under_mps(int gpu) {
  int under_mps = 0;
  return cudaDeviceGetAttribute(&under_mps, cudaDevAttrMpsEnabled, gpu) == cudaSuccess && under_mps != 0;
}

class CudaPlugin final : public GpuPlugin {
 public:
  GpuFacts facts() override {
    GpuFacts facts;
    ask_for_versions(facts);
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaErrorInsufficientDriver || status == cudaErrorStubLibrary) {
      facts.why_no_gpu = facts.driver.empty()
                             ? "there is no NVIDIA driver; it comes with the machine, not with this program"
                             : "the NVIDIA driver (" + facts.driver + ") is older than CUDA " +
                                   facts.runtime + " needs; update it";
    } else if (status != cudaSuccess || count == 0) {
      facts.why_no_gpu = std::string("the driver found no GPU (") + cudaGetErrorString(status) +
                         "); look at nvidia-smi and CUDA_VISIBLE_DEVICES";
    } else {
      ask_for_gpus(facts, count);
    }
    return facts;
  }

  std::unique_ptr<Device> make_device(int gpu, bool tf32) override {
    make_context(gpu);
    return make_cuda_device(gpu, {tf32});
  }

  std::vector<std::unique_ptr<Communicator>> make_local_cuda_group(int ranks, const std::string& reason,
                                                                   double patience_seconds,
                                                                   bool spins) override {
    return shardlens::make_local_cuda_group(ranks, reason, patience_seconds, spins);
  }

  std::vector<std::unique_ptr<Communicator>> make_nccl_group(int ranks, int ranks_per_gpu,
                                                             const std::string& reason,
                                                             double patience_seconds, bool spins) override {
    return shardlens::make_nccl_group(ranks, ranks_per_gpu, reason, patience_seconds, spins);
  }

  std::unique_ptr<Communicator> make_nccl_rank(std::unique_ptr<HostMeeting> meeting, int ranks_per_gpu,
                                               const std::string& reason, double patience_seconds) override {
    return shardlens::make_nccl_rank(std::move(meeting), ranks_per_gpu, reason, patience_seconds);
  }

  int hanging_calls() const override { return UncertainCalls::hanging(); }

 private:
  void ask_for_versions(GpuFacts& facts) const {
    int driver = 0, runtime = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0)
      facts.driver = nvml_.driver_version() + " (CUDA " + cuda_version(driver) + ")";
    if (cudaRuntimeGetVersion(&runtime) == cudaSuccess) facts.runtime = cuda_version(runtime);
    const size_t blas = cublasLtGetVersion();
    facts.cublaslt = std::to_string(blas / 10000) + "." + std::to_string(blas / 100 % 100) + "." +
                     std::to_string(blas % 100);
    facts.nccl_version = nccl_version(&facts.why_no_nccl);
  }

  // Makes this process's context on a GPU and measures its memory. Ranks make their devices in their own
  // threads, so the first of them makes the context here.
  void make_context(int gpu) {
    const std::lock_guard lock(mutex_);
    if (context_bytes_.count(gpu) > 0) return;
    const std::string bus = bus_of(gpu);
    int64_t before = 0, after = 0, all = 0;
    const bool knows = nvml_.memory(bus, &before, &all);
    cuda::check("GPU " + std::to_string(gpu), "cudaSetDevice", cudaSetDevice(gpu));
    cuda::check("GPU " + std::to_string(gpu), "cudaFree", cudaFree(nullptr));
    const bool known = knows && nvml_.memory(bus, &after, &all) && after >= before;
    context_bytes_[gpu] = known ? after - before : -1;
  }

  int64_t context_bytes(int gpu) const {
    const std::lock_guard lock(mutex_);
    const auto made = context_bytes_.find(gpu);
    return made == context_bytes_.end() ? -1 : made->second;
  }

  // The driver reports a whole board's memory. If CUDA has only a part of the board (MIG), the used part is
  // not known.
  void ask_for_memory(Gpu& gpu) const {
    int64_t used = 0, all = 0;
    if (!nvml_.memory(gpu.bus, &used, &all)) return;
    if (static_cast<double>(gpu.memory_bytes) < kWholeBoard * static_cast<double>(all)) return;
    gpu.used_bytes = used;
    gpu.memory_bytes = all;
  }

  void ask_for_gpus(GpuFacts& facts, int count) const {
    for (int number = 0; number < count; ++number) {
      cudaDeviceProp properties{};
      if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) continue;
      Gpu gpu;
      gpu.number = number;
      gpu.name = properties.name;
      gpu.major = properties.major;
      gpu.minor = properties.minor;
      gpu.multiprocessors = properties.multiProcessorCount;
      gpu.mps = is_under_mps(number);
      gpu.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
      gpu.bus = bus_of(number);
      ask_for_memory(gpu);
      gpu.context_bytes = context_bytes(number);
      facts.gpus.push_back(gpu);
    }
    for (const Gpu& from : facts.gpus) {
      for (const Gpu& to : facts.gpus) {
        if (from.number >= to.number) continue;
        int direct = 0;
        cudaDeviceCanAccessPeer(&direct, from.number, to.number);
        const bool nvlink = nvml_.joined_by_nvlink(from.bus, to.bus);
        facts.links.push_back({from.number, to.number,
                               nvlink   ? "NVLink"
                               : direct ? "PCIe"
                                        : "through the host"});
      }
    }
    if (facts.gpus.empty())
      facts.why_no_gpu = "the driver does not report the GPUs' properties; look at nvidia-smi";
  }

  cuda::Nvml nvml_;
  mutable std::mutex mutex_;
  std::map<int, int64_t> context_bytes_;  // of the GPUs on which this process has made a device
};

}  // namespace

extern "C" __attribute__((visibility("default"))) GpuPlugin* shardlens_cuda_plugin() {
  static CudaPlugin plugin;
  return &plugin;
}

}  // namespace shardlens
