// Looks up a few of NVML's functions by name, with the types of its documentation.
#include "engine/device/cuda/nvml.h"

#include <dlfcn.h>

namespace shardlens::cuda {

namespace {

using Status = int;  // nvmlReturn_t, 0 is success
using Handle = void*;

struct Memory {  // nvmlMemory_t
  unsigned long long total, free, used;
};

constexpr int kNvlinkCapability = 2;  // NVML_P2P_CAPS_INDEX_NVLINK
constexpr size_t kVersionLength = 80;

}  // namespace

template <class Function>
Function* Nvml::function(const char* name) const {
  return library_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library_, name));
}

Nvml::Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
  if (auto* const initialise = function<Status()>("nvmlInit_v2")) initialised_ = initialise() == 0;
}

Nvml::~Nvml() {
  if (initialised_) {
    if (auto* const shut_down = function<Status()>("nvmlShutdown")) shut_down();
  }
  if (library_ != nullptr) dlclose(library_);
}

std::string Nvml::driver_version() const {
  char text[kVersionLength] = {};
  auto* const version = function<Status(char*, unsigned)>("nvmlSystemGetDriverVersion");
  return initialised_ && version != nullptr && version(text, sizeof text) == 0 ? text : "";
}

void* Nvml::handle(const std::string& bus) const {
  Handle found = nullptr;
  auto* const by_bus = function<Status(const char*, Handle*)>("nvmlDeviceGetHandleByPciBusId_v2");
  return initialised_ && by_bus != nullptr && by_bus(bus.c_str(), &found) == 0 ? found : nullptr;
}

bool Nvml::memory(const std::string& bus, int64_t* used_bytes, int64_t* total_bytes) const {
  Memory memory{};
  void* const gpu = handle(bus);
  auto* const ask = function<Status(Handle, Memory*)>("nvmlDeviceGetMemoryInfo");
  if (gpu == nullptr || ask == nullptr || ask(gpu, &memory) != 0) return false;
  *used_bytes = static_cast<int64_t>(memory.used);
  *total_bytes = static_cast<int64_t>(memory.total);
  return true;
}

bool Nvml::joined_by_nvlink(const std::string& bus, const std::string& other_bus) const {
  int status = 0;
  void* const gpu = handle(bus);
  void* const other = handle(other_bus);
  auto* const ask = function<Status(Handle, Handle, int, int*)>("nvmlDeviceGetP2PStatus");
  return gpu != nullptr && other != nullptr && ask != nullptr &&
         ask(gpu, other, kNvlinkCapability, &status) == 0 && status == 0;
}

}  // namespace shardlens::cuda
