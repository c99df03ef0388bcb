// Which of cuBLASLt's algorithms is chosen for a shape. The algorithms and their times are simulated: some
// add in another order, some fail when they start, some write outside C.
#include <cublasLt.h>
#include <gtest/gtest.h>

#include "engine/device/cuda/cuda_device.h"
#include "tests/engine/device/on_device.h"

namespace shardlens {
namespace {

// Just large enough for a trial.
constexpr int64_t kRows = 32, kCols = 32, kDepth = 5120;
constexpr double kSlow = 40, kFaster = 20, kFastest = 10;  // played seconds, beside which the host's are none
/// What the plan is asked for once, and in a trial of two algorithms: one to look at and three to time each,
/// and one to end with the first one's result.
constexpr int kOnce = 1, kTrialOfTwo = 1 + 2 * 4 + 1;

/// Of A, by which GeLU is of numbers about 1: of -50 it is 0.
constexpr double kGeluScale = 0.01;

enum class Kind {
  Plain,
  Adds,
  FromBias,
  Gelu,
  GeluGrad,
  GeluGradInPlace,
  WeightGrad,
  WeightGradAdds,
  WithSums
};

struct Use {
  Kind kind = Kind::Plain;
  DType dtype = DType::Fp32;
  double scale = 1;       ///< of A's elements; 0: all are 0
  bool integers = false;  ///< A and B
  int64_t depth = kDepth, cols = kCols;
};

class AlgorithmTrials : public ::testing::Test {
 protected:
  ~AlgorithmTrials() override { offer_algorithms({}); }

  /// Offered to a new device.
  void offer(const std::vector<PlayedAlgorithm>& algorithms) {
    offer_algorithms(algorithms);
    device_ = make_cuda_device(0, {true});
  }

  /// One use of the shape, until it is done; what it left, and how many products the library was asked for.
  Outputs use(const Use& use = {}) {
    const int before = products_asked();
    Outputs left = operate(*device_, use.dtype, 0, [&](OnDevice& on) { on.device.gemm(gemm_of(use, on)); });
    asked_ = products_asked() - before;
    return left;
  }

  /// The algorithm that one more use is done by.
  int used(const Use& one = {}) {
    use(one);
    return last_algorithm_played();
  }

  int asked_ = 0;

 private:
  static Gemm gemm_of(const Use& use, OnDevice& on) {
    const auto numbers = [&](int64_t count, unsigned seed) {
      return use.integers ? integers(count, seed) : normal_in(use.dtype, count, seed);
    };
    Numbers a = numbers(kRows * use.depth, 1);
    for (double& value : a) value *= use.scale;
    const bool weight_grad =
        use.kind == Kind::WeightGrad || use.kind == Kind::WeightGradAdds || use.kind == Kind::WithSums;
    Gemm gemm;
    gemm.dtype = use.dtype;
    gemm.transpose_a = gemm.wide_result = weight_grad;
    gemm.m = kRows;
    gemm.n = gemm.ldb = gemm.ldc = use.cols;
    gemm.k = use.depth;
    gemm.lda = weight_grad ? gemm.m : gemm.k;
    gemm.a = on.in(a);
    gemm.b = on.in(numbers(use.depth * use.cols, 2));
    const int64_t count = kRows * use.cols;
    if (use.kind == Kind::Adds || use.kind == Kind::GeluGradInPlace)
      gemm.c = on.in_out(use.dtype, "C", normal_in(use.dtype, count, 3));
    else if (use.kind == Kind::WeightGradAdds)
      gemm.c = on.in_out(DType::Fp32, "C", normal_in(DType::Fp32, count, 3));
    else
      gemm.c = weight_grad ? on.out_wide("C", count) : on.out("C", count);
    gemm.accumulate = use.kind == Kind::Adds || use.kind == Kind::WeightGradAdds;
    if (use.kind == Kind::FromBias || use.kind == Kind::Gelu)
      gemm.bias = on.in(normal_in(use.dtype, use.cols, 4));
    if (use.kind == Kind::WithSums) gemm.sums = {use.cols, on.out_wide("db", use.cols), false};
    if (use.kind == Kind::Gelu) {
      gemm.after = AfterProduct::Gelu;
      gemm.before = on.out("H", count);
    }
    if (use.kind == Kind::GeluGrad || use.kind == Kind::GeluGradInPlace) {
      gemm.after = AfterProduct::GeluGrad;
      gemm.before = use.kind == Kind::GeluGrad ? on.in(normal_in(use.dtype, count, 5)) : gemm.c;
    }
    return gemm;
  }

  std::unique_ptr<Device> device_;
};

TEST_F(AlgorithmTrials, TheFastestOfThoseWithTheSameBitsIsTaken) {
  offer({{kSlow}, {kFaster}, {kFastest}, {kFaster}, {.seconds = 1, .backwards = true}});
  const Outputs first = use();
  EXPECT_EQ(last_algorithm_played(), 0) << "C is the first one's";
  EXPECT_EQ(used(), 2);
  EXPECT_EQ(asked_, kOnce);
  EXPECT_TRUE(same(use(), first));
}

TEST_F(AlgorithmTrials, OneWithOtherBitsIsNever) {
  for (const PlayedAlgorithm& other : {PlayedAlgorithm{.seconds = kFastest, .backwards = true},
                                       PlayedAlgorithm{.seconds = kFastest, .mirrored = true}}) {
    offer({{kSlow}, other});
    const Outputs first = use();
    EXPECT_EQ(asked_, kTrialOfTwo);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(same(use(), first));
      EXPECT_EQ(last_algorithm_played(), 0);
      EXPECT_EQ(asked_, kOnce);
    }
  }
}

// Whatever bits these operands have.
TEST_F(AlgorithmTrials, OneThatTheLibrarySaysAddsUpOtherwiseIsNotTried) {
  offer({{kSlow}, {.seconds = kFastest, .parts = 4}, {.seconds = kFastest, .units = 0x0202}});
  use();
  EXPECT_EQ(asked_, kOnce);
  EXPECT_EQ(used(), 0);
}

TEST_F(AlgorithmTrials, HardlyFasterIsNotFaster) {
  offer({{1000}, {990}});
  use();
  EXPECT_EQ(asked_, kTrialOfTwo);
  EXPECT_EQ(used(), 0);
}

TEST_F(AlgorithmTrials, OneThatCannotBeLaunchedIsLeftOut) {
  offer({{kSlow}, {.seconds = 1, .launches = false}, {kFastest}});
  const Outputs first = use();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(used(), 2);
  EXPECT_TRUE(same(use(), first));
}

// By these the one that adds up backwards has the same bits.
TEST_F(AlgorithmTrials, ZerosAndSmallIntegersProveNothing) {
  for (const Use& telling_nothing : {Use{.scale = 0}, Use{.integers = true}}) {
    offer({{kSlow}, {.seconds = kFastest, .backwards = true}, {kFaster}});
    use(telling_nothing);
    EXPECT_GT(asked_, kOnce);
    EXPECT_EQ(used(telling_nothing), 0);
    EXPECT_EQ(used(), 0) << "and is tried by these numbers";
    EXPECT_GT(asked_, kOnce);
    EXPECT_EQ(used(), 2);
    EXPECT_EQ(asked_, kOnce);
  }
}

TEST_F(AlgorithmTrials, OperandsThatNeverTellAreNotTriedForEver) {
  offer({{kSlow}, {kFastest}});
  for (int i = 0; i < 4; ++i) {
    use({.scale = 0});
    EXPECT_EQ(asked_, kTrialOfTwo);
  }
  use();
  EXPECT_EQ(asked_, kOnce);
  EXPECT_EQ(used(), 0);
}

TEST_F(AlgorithmTrials, WhatIsAddedIsAddedOnce) {
  for (const Use& adding : {Use{.kind = Kind::Adds}, Use{.kind = Kind::FromBias, .dtype = DType::Fp64},
                            Use{.kind = Kind::GeluGradInPlace}}) {
    offer({{kSlow}});
    const Outputs expected = use(adding);
    offer({{kSlow}, {kFastest}});
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(same(use(adding), expected));
      EXPECT_EQ(asked_, kOnce);
    }
  }
}

// What was found without adding proves nothing of adding.
TEST_F(AlgorithmTrials, WhoAddsHasTheFirst) {
  offer({{kSlow}, {kFastest}});
  use();
  EXPECT_EQ(used(), 1);
  EXPECT_EQ(used({.kind = Kind::Adds}), 0);
  EXPECT_EQ(used(), 1);
}

TEST_F(AlgorithmTrials, WithGeluAndItsGradient) {
  for (const Kind kind : {Kind::Gelu, Kind::GeluGrad}) {
    offer({{kSlow}, {kFastest}});
    const Use one{.kind = kind, .scale = kGeluScale};
    const Outputs first = use(one);
    EXPECT_EQ(asked_, kTrialOfTwo);
    EXPECT_TRUE(same(use(one), first));
    EXPECT_EQ(last_algorithm_played(), 1);
  }
}

TEST_F(AlgorithmTrials, WhatGeluIsOfMustBeTheSameToo) {
  offer({{kSlow}, {.seconds = kFastest, .beside = 0.5}});
  const Use one{.kind = Kind::Gelu, .scale = kGeluScale};
  const Outputs first = use(one);
  EXPECT_EQ(asked_, kTrialOfTwo);
  EXPECT_TRUE(same(use(one), first));
  EXPECT_EQ(last_algorithm_played(), 0);
}

TEST_F(AlgorithmTrials, SumsBesideAProductMustBeTheSameToo) {
  const Use one{.kind = Kind::WithSums, .dtype = DType::Bf16};
  offer({{kSlow}, {.seconds = kFastest, .beside = 0.5}, {kFaster}});
  const Outputs first = use(one);
  EXPECT_EQ(last_epilogue_played(), CUBLASLT_EPILOGUE_BGRADA);
  EXPECT_EQ(used(one), 2);
  EXPECT_TRUE(same(use(one), first));
}

TEST_F(AlgorithmTrials, SmallProductsHaveTheFirst) {
  offer({{kSlow}, {kFastest}});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(used({.depth = 64}), 0);
    EXPECT_EQ(asked_, kOnce);
  }
}

// Sums that differ by their last bits are mostly rounded to the same 16.
TEST_F(AlgorithmTrials, ItTakesManyRoundedResultsToTell) {
  offer({{kSlow}, {.seconds = kFastest, .backwards = true}, {kFaster}});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(used({.dtype = DType::Bf16}), 0);
    EXPECT_EQ(asked_, kOnce);
  }
  const Use many{.dtype = DType::Bf16, .depth = 100, .cols = int64_t{1} << 15};
  use(many);
  EXPECT_GT(asked_, kOnce);
  EXPECT_EQ(used(many), 2);
}

// The formula is in engine/device/cuda/waves.h. One tile leaves 131 multiprocessors idle.
TEST_F(AlgorithmTrials, AWeightGradientsSumIsCutByAFormula) {
  constexpr cublasLtMatmulTile_t kTile = CUBLASLT_MATMUL_TILE_128x256;
  const Use weight_grad{.kind = Kind::WeightGrad, .dtype = DType::Bf16};
  offer({{.tile = kTile}, {.seconds = kSlow, .parts = 4, .tile = kTile}});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(used(weight_grad), 1) << "by no time";
    EXPECT_EQ(asked_, kOnce);
  }
  EXPECT_EQ(used({.kind = Kind::WeightGradAdds, .dtype = DType::Bf16}), 1);
  EXPECT_EQ(used({.kind = Kind::WeightGrad, .dtype = DType::Fp32}), 0);
  EXPECT_EQ(used({.dtype = DType::Bf16}), 0);
  offer({{.tile = kTile}, {.parts = 4}});
  EXPECT_EQ(used(weight_grad), 0) << "the second one's tile is not known";
  offer({{}, {.parts = 4, .tile = kTile}});
  EXPECT_EQ(used(weight_grad), 0) << "the first one's tile is not known";
}

TEST_F(AlgorithmTrials, OfThoseWithAsManyPartsTheFastestIsTaken) {
  constexpr cublasLtMatmulTile_t kTile = CUBLASLT_MATMUL_TILE_128x256;
  offer({{.seconds = kFastest, .tile = kTile},
         {.seconds = kSlow, .parts = 4, .tile = kTile},
         {.seconds = kFaster, .parts = 4}});
  const Use weight_grad{.kind = Kind::WeightGrad, .dtype = DType::Bf16};
  const Outputs first = use(weight_grad);
  EXPECT_EQ(asked_, kTrialOfTwo);
  EXPECT_EQ(used(weight_grad), 2);
  EXPECT_TRUE(same(use(weight_grad), first));
}

// More shapes than there are trials at a time: each has its own in the end.
TEST_F(AlgorithmTrials, EveryShapeHasItsTurn) {
  offer({{kSlow}, {kFastest}});
  for (int64_t shape = 0; shape < 6; ++shape) use({.depth = kDepth + shape});
  for (int64_t shape = 0; shape < 6; ++shape) EXPECT_EQ(used({.depth = kDepth + shape}), 1);
}

}  // namespace
}  // namespace shardlens
