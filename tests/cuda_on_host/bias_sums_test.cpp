// Which weight gradients the device requests from cuBLASLt with the bias gradient in the same product, and
// what it does otherwise. tests/engine/device/every_device_test.cpp tests the values.
#include <cublasLt.h>
#include <gtest/gtest.h>

#include "engine/device/cuda/cuda_device.h"
#include "tests/cuda_on_host/streams.h"
#include "tests/engine/device/on_device.h"

namespace shardlens {
namespace {

constexpr int64_t kTokens = 100, kRows = 16, kCols = 24;

struct Asked {
  DType dtype = DType::Bf16;
  bool added = false;  ///< to the bias gradient that is there
  int64_t shift = 0;   ///< of all tensors, in elements
};

class BiasSums : public ::testing::Test {
 protected:
  ~BiasSums() override {
    offer_algorithms({});
    for (const bool late : {false, true}) refuse_epilogues(CUBLAS_STATUS_SUCCESS, late);
  }

  /// dW and db, and how many kernels were launched for them.
  Outputs use(const Asked& asked) {
    const int before = on_host::launches;
    Outputs left = operate(*device_, asked.dtype, asked.shift, [&](OnDevice& on) {
      Gemm gemm;
      gemm.dtype = asked.dtype;
      gemm.transpose_a = gemm.wide_result = true;
      gemm.m = gemm.lda = kRows;
      gemm.n = gemm.ldb = gemm.ldc = kCols;
      gemm.k = kTokens;
      gemm.a = on.in(normal_in(asked.dtype, kTokens * kRows, 1));
      gemm.b = on.in(normal_in(asked.dtype, kTokens * kCols, 2));
      gemm.c = on.out_wide("dW", kRows * kCols);
      gemm.sums = {kCols, on.in_out(on.wide(), "db", normal_in(on.wide(), kCols, 3)), asked.added};
      on.device.gemm(gemm);
    });
    launches_ = on_host::launches - before;
    return left;
  }
  /// True if db has the bits of bias_grad(), in a launch of its own after the product.
  bool is_a_pass(const Asked& asked) {
    const Outputs left = use(asked);
    const Outputs alone = operate(*device_, asked.dtype, asked.shift, [&](OnDevice& on) {
      on.device.bias_grad(asked.dtype, kTokens, kCols, on.in(normal_in(asked.dtype, kTokens * kCols, 2)),
                          on.in_out(on.wide(), "db", normal_in(on.wide(), kCols, 3)), asked.added);
    });
    return launches_ == 2 && last_epilogue_played() == CUBLASLT_EPILOGUE_DEFAULT && same({left[1]}, alone);
  }

  std::unique_ptr<Device> device_ = make_cuda_device(0);
  int launches_ = 0;
};

TEST_F(BiasSums, AreAskedOfTheLibraryInSixteenBits) {
  for (const DType dtype : {DType::Bf16, DType::Fp16}) {
    use({.dtype = dtype});
    EXPECT_EQ(last_epilogue_played(), CUBLASLT_EPILOGUE_BGRADA) << to_string(dtype);
    EXPECT_EQ(launches_, 1) << to_string(dtype);
  }
}

TEST_F(BiasSums, AreAPassWhereTheLibraryHasThemNot) {
  EXPECT_TRUE(is_a_pass({.dtype = DType::Fp32}));
  EXPECT_TRUE(is_a_pass({.dtype = DType::Fp64}));
  EXPECT_TRUE(is_a_pass({.added = true}));
  EXPECT_TRUE(is_a_pass({.shift = 1})) << "db is not aligned";
}

TEST_F(BiasSums, AreAPassWhereTheLibraryRefuses) {
  for (const bool late : {false, true}) {
    refuse_epilogues(CUBLAS_STATUS_NOT_SUPPORTED, late);
    device_ = make_cuda_device(0);
    for (int time = 0; time < 2; ++time) EXPECT_TRUE(is_a_pass({})) << (late ? "late" : "at once");
    refuse_epilogues(CUBLAS_STATUS_SUCCESS, late);
  }
}

// It may be much slower, and nothing here measures it.
TEST_F(BiasSums, AreAPassWhereTheProductWouldBeAnotherKernel) {
  const PlayedAlgorithm without{.id = 1, .has_sums = false};
  for (const PlayedAlgorithm& with : {PlayedAlgorithm{.id = 2}, PlayedAlgorithm{.parts = 2, .id = 1},
                                      PlayedAlgorithm{.tile = CUBLASLT_MATMUL_TILE_64x64, .id = 1}}) {
    offer_algorithms({without, with});
    device_ = make_cuda_device(0);
    EXPECT_TRUE(is_a_pass({}));
  }
  offer_algorithms({without, {.id = 1}});
  device_ = make_cuda_device(0);
  EXPECT_FALSE(is_a_pass({})) << "the same kernel";
  offer_algorithms({without});
  device_ = make_cuda_device(0);
  EXPECT_TRUE(is_a_pass({})) << "there is none";
}

}  // namespace
}  // namespace shardlens
