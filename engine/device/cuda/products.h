// The matrix products of one device by cuBLASLt. A product's descriptors, and the algorithms that the
// library's heuristic chose, are made once for each shape and kept.
//
// A shape's first algorithm is the heuristic's first guess. Only for weight gradients in 16 bits another one
// of its guesses may come first, by a formula (waves.h). The first algorithm is used until a trial has found
// a faster one with the same bits (algorithm_trial.h). At one of its first uses all algorithms run, one after
// the other: about thirty products instead of one. So the first passes of a run take longer, also in traces,
// and a measurement must skip them. These keep the first algorithm for good:
//   - small products, which gain little, and 16-bit results with so few elements that rounding may hide
//   another order of
//     the sums;
//   - products that add to C or to a bias: C cannot be computed twice, a trial of the same shape without the
//   addition
//     does not cover the sum, and there are few of them (weight gradients from the second micro-batch on, and
//     biases in fp64);
//   - products that overwrite an input, such as a gradient that overwrites GeLU's input;
//   - shapes whose operands could not show a difference in their first trials, such as zeros.
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

/// Throws a run Error with the operation, the call and cuBLAS's message, unless the call succeeded.
void check_blas(const std::string& operation, const char* call, cublasStatus_t status);

class Products {
 public:
  Products(bool tf32, int64_t multiprocessors);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  /// C = op(A)·op(B) (+ C) (+ bias), and Gemm::after, or Gemm::sums of B; not the sums of C. m, n and k must
  /// not be 0. Returns false and does nothing if the library has no such product; ask again without these
  /// two.
  bool multiply(const Operation& operation, const Gemm& gemm);

 private:
  /// All that decides the algorithm of a product: everything except the addresses, of which only the
  /// alignment counts.
  using Key = std::tuple<DType, bool, bool, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool,
                         cublasLtEpilogue_t, uint32_t, uint32_t, uint32_t, uint32_t>;
  struct Plan;

  bool has_after(const Gemm& gemm) const;
  /// Asks for a trial of the plan's algorithms, if it needs one and a trial is free. C does not change.
  void try_others(const Operation& operation, const Gemm& gemm, Plan& plan,
                  const std::function<cublasStatus_t(int)>& run);
  /// The plan for a product, made at the first call and kept. Null, also kept: the library has no algorithm.
  std::unique_ptr<Plan>& plan(const Operation& operation, const Gemm& gemm, cublasLtEpilogue_t epilogue);
  std::unique_ptr<Plan> make_plan(const Operation& operation, const Gemm& gemm,
                                  cublasLtEpilogue_t epilogue) const;

  bool tf32_;
  int64_t multiprocessors_;  ///< of the GPU
  cublasLtHandle_t handle_ = nullptr;
  std::vector<std::shared_ptr<AlgorithmTrial>> trials_;  ///< a trial is free if no plan shares it
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace shardlens::cuda
