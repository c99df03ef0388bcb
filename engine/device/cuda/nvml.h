// The driver's own library of facts, opened when it is there: it comes with the driver, not with the toolkit,
// and asking it does not start anything on a GPU.
#pragma once

#include <cstdint>
#include <string>

namespace shardlens::cuda {

class Nvml {
 public:
  Nvml();  ///< opens libnvidia-ml.so.1; what it does not have is not known
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;  ///< "580.95.05"; empty where it is not known
  /// Of the GPU at a PCI address; false, and nothing is written, where it is not known.
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
