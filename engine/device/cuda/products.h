// The matrix products of one device by cuBLASLt. A product's descriptors and the algorithm the library's
// heuristic chose for it are made once for each shape and kept.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

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
  /// Kept from the first time on, also that there is none: null where the library knows no algorithm.
  std::unique_ptr<Plan>& plan(const Operation& operation, const Gemm& gemm, cublasLtEpilogue_t epilogue);
  std::unique_ptr<Plan> make_plan(const Operation& operation, const Gemm& gemm,
                                  cublasLtEpilogue_t epilogue) const;

  bool tf32_;
  cublasLtHandle_t handle_ = nullptr;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace shardlens::cuda
