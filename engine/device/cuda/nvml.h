// NVML, the driver's library of facts about GPUs. It comes with the driver, not with the toolkit, and is
// opened if it is found. Asking it starts nothing on a GPU.
#pragma once

#include <cstdint>
#include <string>

namespace shardlens::cuda {

class Nvml {
 public:
  Nvml();  ///< opens libnvidia-ml.so.1, if it is found
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;  ///< "580.95.05"; empty: not known
  /// The memory of the GPU at a PCI address. Returns false and writes nothing if it is not known.
  bool memory(const std::string& bus, int64_t* used_bytes, int64_t* total_bytes) const;
  bool joined_by_nvlink(const std::string& bus, const std::string& other_bus) const;

 private:
  template <class Function>
  Function* function(const char* name) const;
  void* handle(const std::string& bus) const;

  void* library_ = nullptr;
  bool initialised_ = false;
};

}  // namespace shardlens::cuda
