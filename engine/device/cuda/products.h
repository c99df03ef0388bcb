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

  /// C = op(A)·op(B) (+ C) (+ bias) where m, n and k are not 0.
  void multiply(const Operation& operation, const Gemm& gemm);

 private:
  /// What decides about a product's algorithm: everything but the addresses, of which the alignment counts.
  using Key = std::tuple<DType, bool, bool, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool, bool,
                         uint32_t, uint32_t, uint32_t>;
  struct Plan;

  Plan& plan(const Operation& operation, const Gemm& gemm);
  /// Null where the library knows no algorithm. `epilogue`: the bias is added as C is stored.
  std::unique_ptr<Plan> make_plan(const Operation& operation, const Gemm& gemm, bool epilogue) const;

  bool tf32_;
  cublasLtHandle_t handle_ = nullptr;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace shardlens::cuda
