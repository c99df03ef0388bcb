// The matrix products of one device by cuBLASLt. A product's descriptors and the algorithms the library's
// heuristic chose for it are made once for each shape and kept.
//
// A shape has the heuristic's first algorithm until a faster one was found that gives the same bits
// (algorithm_trial.h): at one of its first uses all of them are asked for besides, one after the other, some
// thirty products in one's place. So the first passes of a run take longer, and show it where they are
// traced; who measures lets them go by. What is not put to the trial keeps the first algorithm for good:
//   - small products, where little is to be gained, and 16-bit results of so few elements that they need not
//     show by their rounded bits that sums met in another order;
//   - products that add to C, be it to what was there or to a bias: C cannot be worked out twice, the same
//     shape's trial without says nothing of the sum, and they are few (weight gradients from the second
//     micro-batch on, and biases in fp64);
//   - products that write over what they read, as a gradient over what GeLU is of;
//   - shapes whose operands told nothing at their first trials, such as zeros.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "engine/device/cuda/algorithm_trial.h"
#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

/// Throws a run Error that names the call, what it was for and what cuBLAS said, unless it succeeded.
void check_blas(const std::string& operation, const char* call, cublasStatus_t status);

class Products {
 public:
  explicit Products(bool tf32);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  /// C = op(A)·op(B) (+ C) (+ bias) where m, n and k are not 0; of what is to be after it all but the bias
  /// gradient. False where the library has no such product: nothing was done then, and it is to be asked for
  /// without.
  bool multiply(const Operation& operation, const Gemm& gemm);

 private:
  /// What decides about a product's algorithm: everything but the addresses, of which the alignment counts.
  using Key = std::tuple<DType, bool, bool, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool,
                         cublasLtEpilogue_t, uint32_t, uint32_t, uint32_t, uint32_t>;
  struct Plan;

  bool has_after(const Gemm& gemm) const;
  /// Asks for a trial of the plan's algorithms, if it needs one and there is one free; C is as it was then.
  void try_others(const Operation& operation, const Gemm& gemm, Plan& plan,
                  const std::function<cublasStatus_t(int)>& run);
  /// Kept from the first time on, also that there is none: null where the library knows no algorithm.
  std::unique_ptr<Plan>& plan(const Operation& operation, const Gemm& gemm, cublasLtEpilogue_t epilogue);
  std::unique_ptr<Plan> make_plan(const Operation& operation, const Gemm& gemm,
                                  cublasLtEpilogue_t epilogue) const;

  bool tf32_;
  cublasLtHandle_t handle_ = nullptr;
  std::vector<std::shared_ptr<AlgorithmTrial>> trials_;  ///< free where no plan has a share in it
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace shardlens::cuda
