// The read ceiling of a device's own memory, such as a GPU's: how fast its sum of squares, which uses each
// number once, reads it.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/device/device.h"

namespace shardlens {

/// Memory of a size on a device, read again and again.
class DeviceReadBench {
 public:
  /// `bytes` are as many as what is compared reads, so that caches help both alike. Throws a run Error where
  /// the memory is not there.
  DeviceReadBench(std::unique_ptr<Device> device, int64_t bytes);
  ~DeviceReadBench();
  DeviceReadBench(const DeviceReadBench&) = delete;
  DeviceReadBench& operator=(const DeviceReadBench&) = delete;

  /// Reads all of it several times, without waiting in between; bytes/s.
  double bytes_per_second();

 private:
  const std::unique_ptr<Device> device_;
  const int64_t floats_;
  void *memory_ = nullptr, *total_ = nullptr;
};

}  // namespace shardlens
