// Sums over rows by columns take one launch, whatever block is the last one of its columns.
// tests/engine/device/every_device_test.cpp tests that a column's bits depend on no other column.
#include <gtest/gtest.h>

#include "engine/device/cuda/cuda_device.h"
#include "tests/cuda_on_host/block.h"
#include "tests/cuda_on_host/streams.h"
#include "tests/engine/device/on_device.h"

namespace shardlens {
namespace {

constexpr int64_t kRows = 200, kCols = 300;  // several chunks of rows, and strips of columns

/// A bias gradient that is added to what is there, and the gradients of a LayerNorm's gain.
Outputs column_sums_of(Device& device, DType dtype) {
  return operate(device, dtype, 0, [&](OnDevice& on) {
    void* const dy = on.in(normal_in(dtype, kRows * kCols, 1));
    void* const db = on.in_out(on.wide(), "db", normal_in(on.wide(), kCols, 2));
    on.device.bias_grad(dtype, kRows, kCols, dy, db, true);
    Numbers stats;
    for (int64_t row = 0; row < kRows; ++row) stats.insert(stats.end(), {0, 1});
    on.device.layer_norm_grad({.dtype = dtype,
                               .rows = kRows,
                               .cols = kCols,
                               .x = on.in(normal_in(dtype, kRows * kCols, 3)),
                               .gamma = on.in(normal_in(dtype, kCols, 4)),
                               .stats = on.in_wide(stats),
                               .dy = dy,
                               .dx = on.out("dx", kRows * kCols),
                               .dgamma = on.out_wide("dgamma", kCols),
                               .dbeta = on.out_wide("dbeta", kCols)});
  });
}

TEST(ColumnSums, AreThoseOfTheCpu) {
  const auto cpu = make_cpu_device(1), device = make_cuda_device(0);
  for (const DType dtype : {DType::Bf16, DType::Fp32, DType::Fp64}) {
    const Outputs ours = column_sums_of(*device, dtype), exact = column_sums_of(*cpu, dtype);
    ASSERT_EQ(ours.size(), exact.size());
    for (size_t i = 0; i < ours.size(); ++i)
      EXPECT_TRUE(is_near(ours[i], exact[i], dtype, Tolerance::of_sum(kRows))) << to_string(dtype);
  }
}

TEST(ColumnSums, HaveTheSameBitsInWhateverOrderBlocksRun) {
  const auto device = make_cuda_device(0);
  for (const DType dtype : {DType::Bf16, DType::Fp16, DType::Fp32, DType::Fp64}) {
    const Outputs forwards = column_sums_of(*device, dtype);
    EXPECT_TRUE(same(column_sums_of(*device, dtype), forwards)) << to_string(dtype) << ", again";
    on_host::runs_backwards = true;
    EXPECT_TRUE(same(column_sums_of(*device, dtype), forwards)) << to_string(dtype) << ", backwards";
    on_host::runs_backwards = false;
  }
}

TEST(ColumnSums, TakeOneLaunch) {
  const auto device = make_cuda_device(0);
  const int before = on_host::launches;
  column_sums_of(*device, DType::Bf16);
  EXPECT_EQ(on_host::launches - before, 3) << "db; dgamma with dbeta; dx";
}

// More strips of columns than there are tickets.
TEST(ColumnSums, OfVeryManyColumnsTakeMoreLaunches) {
  constexpr int64_t kStrip = 64, kMany = cuda::CudaDevice::kTickets * kStrip + 5;
  const auto device = make_cuda_device(0);
  const Numbers dy = integers(kMany, 1);
  const int before = on_host::launches;
  const Outputs sums = operate(*device, DType::Fp64, 0, [&](OnDevice& on) {
    on.device.bias_grad(on.dtype, 1, kMany, on.in(dy), on.out("db", kMany), false);
  });
  EXPECT_EQ(on_host::launches - before, 2);
  EXPECT_EQ(sums[0].numbers(), dy);
}

}  // namespace
}  // namespace shardlens
