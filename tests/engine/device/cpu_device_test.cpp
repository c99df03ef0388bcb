// The device itself: its name, its memory, and the requests that it refuses.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/device/device.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace cpu_device_test {

std::string refusal(ErrorKind kind, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

TEST(CpuDeviceTest, SaysWhatItIs) {
  EXPECT_EQ(make_cpu_device(1)->name(), "cpu, 1 thread");
  EXPECT_EQ(make_cpu_device(3)->name(), "cpu, 3 threads");
  EXPECT_GE(available_cores(), 1);
}

TEST(CpuDeviceTest, NeedsAThread) {
  EXPECT_NE(refusal(ErrorKind::Request, [] { make_cpu_device(0); }).find("at least 1"), std::string::npos);
}

TEST(CpuDeviceTest, MemoryIsAlignedAndCopiesRoundTrip) {
  const auto device = make_cpu_device(1);
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{1000}, size_t{5} << 20}) {
    void* memory = device->allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    const std::vector<char> sent(bytes, 'x');
    std::vector<char> received(bytes);
    device->copy_to_device(memory, sent.data(), bytes);
    device->copy_to_host(received.data(), memory, bytes);
    EXPECT_EQ(sent, received);
    device->release(memory);
  }
}

TEST(CpuDeviceTest, MemoryThatIsNotThereIsNamedInBytes) {
  const auto device = make_cpu_device(1);
  for (const size_t bytes : {size_t{1} << 60, SIZE_MAX - 3})
    EXPECT_NE(refusal(ErrorKind::Run, [&] { device->allocate(bytes); }).find(std::to_string(bytes)),
              std::string::npos);
}

TEST(CpuDeviceTest, IntegersAreNotComputedWith) {
  const auto device = make_cpu_device(1);
  for (const auto& action : std::vector<std::function<void()>>{
           [&] { device->gemm({.dtype = DType::Int32}); },
           [&] { device->gelu(DType::Int32, Activation::GeluTanh, 0, nullptr, nullptr); },
           [&] { device->layer_norm({.dtype = DType::Int32}); },
           [&] { device->attention({.dtype = DType::Int32}); },
           [&] { device->square_sum(DType::Bf16, {}, nullptr); },
           [&] { device->add(DType::Int32, 0, nullptr, nullptr, nullptr); }})
    EXPECT_NE(refusal(ErrorKind::Request, action).find("fp32 or fp64"), std::string::npos);
}

// Piece by piece of each tensor, one addition after the other: the bits of a norm stay what they were.
TEST(CpuDeviceTest, AListsSquaresAreAddedInItsOrder) {
  const auto device = make_cpu_device(2);
  const std::vector<double> x = normal<double>(160'000, 1);
  const auto total = [&](const std::vector<int64_t>& counts) {
    std::vector<ListedTensor> list;
    const double* next = x.data();
    for (const int64_t count : counts) {
      list.push_back({count, count > 0 ? next : nullptr});
      next += count;
    }
    double sum = -1;
    device->square_sum(DType::Fp64, list, &sum);
    return sum;
  };
  EXPECT_EQ(
      total({17, 0, 40'000, 1, 40'000, 40'000, 30'000}),
      total({17, 16'384, 16'384, 7'232, 1, 16'384, 16'384, 7'232, 16'384, 16'384, 7'232, 16'384, 13'616}));
  EXPECT_EQ(total({0}), 0);
  EXPECT_EQ(total({}), 0);
}

}  // namespace cpu_device_test
}  // namespace shardlens
