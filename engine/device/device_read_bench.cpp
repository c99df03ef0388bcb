// Times sums of squares.
#include "engine/device/device_read_bench.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace shardlens {
namespace {

constexpr int kReads = 8;  // asked for before waiting
constexpr int64_t kFilledFloats = 1 << 20;

}  // namespace

DeviceReadBench::DeviceReadBench(std::unique_ptr<Device> device, int64_t bytes)
    : device_(std::move(device)), floats_(std::max<int64_t>(1, bytes / static_cast<int64_t>(sizeof(float)))) {
  memory_ = device_->allocate(static_cast<size_t>(floats_) * sizeof(float));
  total_ = device_->allocate(sizeof(double));
  const std::vector<float> ones(static_cast<size_t>(std::min(floats_, kFilledFloats)), 1.0f);
  const auto step = static_cast<int64_t>(ones.size());
  for (int64_t first = 0; first < floats_; first += step)
    device_->copy_to_device(static_cast<float*>(memory_) + first, ones.data(),
                            static_cast<size_t>(std::min(step, floats_ - first)) * sizeof(float));
}

DeviceReadBench::~DeviceReadBench() {
  device_->release(memory_);
  device_->release(total_);
}

double DeviceReadBench::bytes_per_second() {
  const auto begin = std::chrono::steady_clock::now();
  const ListedTensor all{floats_, memory_};
  for (int i = 0; i < kReads; ++i) device_->square_sum(DType::Fp32, {&all, 1}, static_cast<double*>(total_));
  device_->synchronize();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return kReads * static_cast<double>(floats_) * sizeof(float) / seconds.count();
}

}  // namespace shardlens
