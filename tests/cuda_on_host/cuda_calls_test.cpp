// Calls of CUDA's runtime that no test of an operation covers: error messages, and copies of rows.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include "engine/device/cuda/copy_rows.cuh"
#include "engine/device/cuda/cuda_device.h"
#include "engine/device/cuda/cuda_order.h"

namespace shardlens {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string words_for(cudaError_t status) {
  try {
    cuda::check("an operation", "cudaLaunchKernel", status);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// By the time that CUDA says what became of a kernel others have been asked for.
TEST(CudaCalls, WhatAKernelDidMayBeAnEarlierOnes) {
  EXPECT_THAT(words_for(cudaErrorIllegalAddress), HasSubstr("may be an earlier one"));
  EXPECT_THAT(words_for(cudaErrorMemoryAllocation), Not(HasSubstr("earlier")));
  EXPECT_EQ(words_for(cudaSuccess), "");
}

// CUDA copies rows in one call that lie no more than 2 GiB apart.
TEST(CudaCalls, RowsAreCopiedHoweverFarTheyLieApart) {
  constexpr int64_t kRows = 3, kApart = int64_t{3} << 30;
  constexpr size_t kBytes = kRows * kApart;
  void* const far =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(far, MAP_FAILED);
  const char text[] = "onetwosix";
  char back[sizeof text] = {};
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  cuda::copy_rows("a test", stream, kRows, 3, text, 3, far, kApart);
  cuda::copy_rows("a test", stream, kRows, 3, far, kApart, back, 3);
  cudaStreamDestroy(stream);
  munmap(far, kBytes);
  EXPECT_STREQ(back, text);
}

// What a collective left that was given up is half made, and who copies it is told so.
TEST(CudaCalls, NothingIsCopiedToTheHostAfterACollectiveThatWasGivenUp) {
  const std::unique_ptr<Device> device = make_cuda_device(0);
  void* const there = device->allocate(64);
  char back[64];
  device->copy_to_host(back, there, sizeof back);
  dynamic_cast<cuda::CudaDevice&>(*device).order().fail(
      std::make_exception_ptr(run_error("the all-reduce was given up")));
  EXPECT_THAT([&] { device->copy_to_host(back, there, sizeof back); },
              ::testing::Throws<Error>(::testing::Property(&Error::what, HasSubstr("given up"))));
  device->release(there);
}

// A collective that other ranks wait for is not to queue behind the blocks of a step beside it.
TEST(CudaCalls, CollectivesGoBeforeSteps) {
  const std::unique_ptr<Device> device = make_cuda_device(0);
  const auto& gpu = dynamic_cast<cuda::CudaDevice&>(*device);
  int least = 0, greatest = 0, steps = 0, collectives = 0;
  cudaDeviceGetStreamPriorityRange(&least, &greatest);
  ASSERT_EQ(cudaStreamGetPriority(gpu.stream(), &steps), cudaSuccess);
  ASSERT_EQ(cudaStreamGetPriority(gpu.order().collectives(), &collectives), cudaSuccess);
  EXPECT_EQ(steps, least);
  EXPECT_EQ(collectives, greatest);
}

// A step takes all of a GPU and lets no block of a collective in before its first blocks end.
TEST(CudaCalls, ACollectiveGoesFirstIfItIsAskedTo) {
  const std::unique_ptr<Device> device = make_cuda_device(0);
  const auto& gpu = dynamic_cast<cuda::CudaDevice&>(*device);
  cuda::CudaOrder& order = gpu.order();
  for (const bool goes_first : {false, true}) {
    std::atomic<bool> may_begin = false, stepped = false;
    on_host::ask_again(order.collectives(), [&] { return may_begin.load(); });
    order.begin_collective(goes_first);
    on_host::ask(gpu.stream(), [&] { stepped = true; });
    const cudaEvent_t behind = on_host::make_event();
    on_host::record(behind, gpu.stream());
    for (int looks = 0; looks < 1000; ++looks) on_host::has_been(behind);
    EXPECT_NE(stepped, goes_first);
    may_begin = true;
    device->synchronize();
    EXPECT_TRUE(stepped);
    on_host::end_event(behind);
  }
}

/// A device with two numbers in its memory.
struct TwoNumbers {
  ~TwoNumbers() {
    device->release(number);
    device->release(taken);
  }
  void write(void* to, float value) { device->copy_to_device(to, &value, sizeof value); }
  float read(const void* from) {
    float value = 0;
    device->copy_to_host(&value, from, sizeof value);
    return value;
  }
  /// In the collectives' order, as a collective does.
  void collect(const void* from, void* to) {
    cuda::CudaOrder& order = dynamic_cast<cuda::CudaDevice&>(*device).order();
    order.begin_collective();
    cuda::copy_rows("a test", order.collectives(), 1, sizeof(float), from, 0, to, 0);
  }

  const std::unique_ptr<Device> device = make_cuda_device(0);
  void* const number = device->allocate(sizeof(float));
  void* const taken = device->allocate(sizeof(float));
};

// What runs of the collectives' order by itself is drawn by lot, so each is tried often.
constexpr int kTries = 40;

TEST(CudaCalls, ACopyToTheHostComesBehindWhatCollectivesWrite) {
  TwoNumbers two;
  for (int i = 0; i < kTries; ++i) {
    two.write(two.number, static_cast<float>(i));
    two.collect(two.number, two.taken);
    ASSERT_EQ(two.read(two.taken), static_cast<float>(i));
  }
}

// Small copies share one pinned block.
TEST(CudaCalls, SmallCopiesInARowKeepTheirBytes) {
  TwoNumbers two;
  for (int i = 0; i < kTries; ++i) {
    two.write(two.number, static_cast<float>(i));
    two.write(two.taken, static_cast<float>(-i));
    ASSERT_EQ(two.read(two.number), static_cast<float>(i));
    ASSERT_EQ(two.read(two.taken), static_cast<float>(-i));
  }
}

TEST(CudaCalls, ACopyToTheGpuComesBehindWhatCollectivesRead) {
  TwoNumbers two;
  for (int i = 0; i < kTries; ++i) {
    two.write(two.number, static_cast<float>(i));
    two.collect(two.number, two.taken);
    two.write(two.number, -1);
    ASSERT_EQ(two.read(two.taken), static_cast<float>(i));
  }
}

}  // namespace
}  // namespace shardlens
