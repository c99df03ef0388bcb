// Which products the device requests from cuBLASLt with GeLU or its gradient fused in: reads the last
// request. tests/engine/device/every_device_test.cpp tests the values, except for TF32, which is not among
// its devices; TF32 is tested here.
#include <cublasLt.h>
#include <gtest/gtest.h>

#include "engine/device/cuda/cuda_device.h"
#include "tests/engine/device/on_device.h"

namespace shardlens {
namespace {

constexpr int64_t kRows = 12, kDepth = 16;  // more than few tokens have: those are no products of the library

struct Asked {
  AfterProduct after = AfterProduct::Gelu;
  DType dtype = DType::Bf16;
  int64_t cols = 24;
  Activation form = Activation::GeluTanh;
  bool tf32 = false, bias = true;
  int64_t shift = 0;
};

Outputs results_of(Device& device, const Asked& asked, DType dtype) {
  const int64_t count = kRows * asked.cols;
  return operate(device, dtype, asked.shift, [&](OnDevice& on) {
    Gemm gemm;
    gemm.dtype = dtype;
    gemm.m = kRows;
    gemm.n = gemm.ldb = gemm.ldc = asked.cols;
    gemm.k = gemm.lda = kDepth;
    gemm.a = on.in(normal_in(asked.dtype, kRows * kDepth, 1));
    gemm.b = on.in(normal_in(asked.dtype, kDepth * asked.cols, 2));
    gemm.c = on.out("C", count);
    gemm.after = asked.after;
    gemm.form = asked.form;
    if (asked.after == AfterProduct::Nothing) {
      gemm.bias = on.in(normal_in(asked.dtype, asked.cols, 3));
    } else if (asked.after == AfterProduct::Gelu) {
      if (asked.bias) gemm.bias = on.in(normal_in(asked.dtype, asked.cols, 3));
      gemm.before = on.out("H", count);
    } else {
      gemm.before = on.in(normal_in(asked.dtype, count, 4));
      gemm.sums = {asked.cols, on.out_wide("db", asked.cols), false};
    }
    on.device.gemm(gemm);
  });
}

cublasLtEpilogue_t epilogue_of(const Asked& asked) {
  const auto device = make_cuda_device(0, {asked.tf32});
  results_of(*device, asked, asked.dtype);
  return last_epilogue_played();
}

TEST(GeluProduct, IsAskedOfTheLibraryInSixteenBits) {
  for (const DType dtype : {DType::Bf16, DType::Fp16}) {
    EXPECT_EQ(epilogue_of({.dtype = dtype}), CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
    EXPECT_EQ(epilogue_of({.dtype = dtype, .bias = false}), CUBLASLT_EPILOGUE_GELU_AUX);
    EXPECT_EQ(epilogue_of({.after = AfterProduct::GeluGrad, .dtype = dtype}), CUBLASLT_EPILOGUE_DGELU);
  }
}

TEST(GeluProduct, IsAskedInFp32WithTf32Alone) {
  EXPECT_EQ(epilogue_of({.dtype = DType::Fp32}), CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(epilogue_of({.after = AfterProduct::GeluGrad, .dtype = DType::Fp32}), CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(epilogue_of({.dtype = DType::Fp32, .tf32 = true}), CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  EXPECT_EQ(epilogue_of({.after = AfterProduct::GeluGrad, .dtype = DType::Fp32, .tf32 = true}),
            CUBLASLT_EPILOGUE_DGELU);
  EXPECT_EQ(epilogue_of({.dtype = DType::Fp64, .tf32 = true}), CUBLASLT_EPILOGUE_DEFAULT);
}

// The library's GeLU is the tanh form, and its rows and vectors have the lengths they have.
TEST(GeluProduct, IsNotAskedForWhatTheLibraryHasNot) {
  EXPECT_EQ(epilogue_of({.form = Activation::GeluErf}), CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(epilogue_of({.cols = 17}), CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(epilogue_of({.shift = 1}), CUBLASLT_EPILOGUE_DEFAULT);  // nor with a bias
  EXPECT_EQ(epilogue_of({.after = AfterProduct::GeluGrad, .form = Activation::GeluErf}),
            CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(epilogue_of({.after = AfterProduct::GeluGrad, .cols = 17}), CUBLASLT_EPILOGUE_DEFAULT);
}

TEST(GeluProduct, IsDoneInPiecesWhereTheLibraryRefuses) {
  const auto cpu = make_cpu_device(1);
  // What lies between the product and the pass is rounded.
  Tolerance tolerance = Tolerance::of_sum(kDepth);
  tolerance.computed += 32 + 4 * unit_of(DType::Bf16) / unit_of(DType::Fp32);
  tolerance.magnitude = 1;
  const auto expect_pieces = [&](bool late) {
    for (const AfterProduct after : {AfterProduct::Nothing, AfterProduct::Gelu, AfterProduct::GeluGrad}) {
      const auto device = make_cuda_device(0);
      const Asked asked{.after = after};
      const Outputs exact = results_of(*cpu, asked, DType::Fp64);
      for (int time = 0; time < 2; ++time) {
        const Outputs ours = results_of(*device, asked, DType::Bf16);
        EXPECT_EQ(last_epilogue_played(), CUBLASLT_EPILOGUE_DEFAULT);
        ASSERT_EQ(ours.size(), exact.size());
        for (size_t i = 0; i < ours.size(); ++i)
          EXPECT_TRUE(is_near(ours[i], exact[i], DType::Bf16, tolerance)) << (late ? "late" : "at once");
      }
    }
  };
  for (const bool late : {false, true}) {
    for (const cublasStatus_t answer : {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE}) {
      refuse_epilogues(answer, late);
      expect_pieces(late);
    }
    refuse_epilogues(CUBLAS_STATUS_SUCCESS, late);
  }
}

TEST(GeluProduct, WithTf32IsTheSame) {
  const auto device = make_cuda_device(0, {true}), cpu = make_cpu_device(1);
  for (const AfterProduct after : {AfterProduct::Gelu, AfterProduct::GeluGrad}) {
    const Asked asked{.after = after, .dtype = DType::Fp32, .tf32 = true};
    const Outputs ours = results_of(*device, asked, DType::Fp32),
                  exact = results_of(*cpu, asked, DType::Fp64);
    ASSERT_EQ(ours.size(), exact.size());
    for (size_t i = 0; i < ours.size(); ++i)
      EXPECT_TRUE(is_near(ours[i], exact[i], DType::Fp32, Tolerance::of_sum(kDepth)));
  }
}

}  // namespace
}  // namespace shardlens
