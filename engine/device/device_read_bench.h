// Measures how fast a device reads its own memory, such as a GPU's. It times the device's sum of squares,
// which uses each number once.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/device/device.h"

namespace shardlens {

/// Memory on a device that is read repeatedly.
class DeviceReadBench {
 public:
  /// `bytes`: as many as the work reads that is compared with this, so that caches help both equally. Throws
  /// a run Error if there is not enough memory.
  DeviceReadBench(std::unique_ptr<Device> device, int64_t bytes);
  ~DeviceReadBench();
  DeviceReadBench(const DeviceReadBench&) = delete;
  DeviceReadBench& operator=(const DeviceReadBench&) = delete;

  /// Reads all of it several times without waiting in between. Returns bytes/s.
  double bytes_per_second();

 private:
  const std::unique_ptr<Device> device_;
  const int64_t floats_;
  void *memory_ = nullptr, *total_ = nullptr;
};

}  // namespace shardlens
