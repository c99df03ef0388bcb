// The trial of a product's algorithms on the GPU. Each algorithm computes C, a kernel hashes the result, and
// events time it. The host does not wait: it asks the stream for the whole trial at once and reads the
// outcome later.
//
// The fastest algorithm may differ between runs and between ranks, but the bits must not. So the trial only
// chooses among the algorithms that gave the first one's bits, and only if the numbers can show a difference.
// Sums of zeros, small integers and powers of two are the same in every order.
#pragma once

#include <cublasLt.h>

#include <functional>
#include <optional>
#include <vector>

#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

/// A matrix [rows, cols] with row stride `stride`, in elements.
struct MatrixOnGpu {
  DType dtype = DType::Fp32;
  int64_t rows = 0, cols = 0, stride = 0;
  const void* data = nullptr;

  int64_t count() const { return rows * cols; }
};

/// What a kernel found in a matrix.
struct Seen {
  unsigned long long hash = 0;     ///< of all elements' bits and places
  unsigned long long telling = 0;  ///< elements that can show the order of a sum
  bool operator==(const Seen&) const = default;
};

class AlgorithmTrial {
 public:
  static constexpr int kMostAlgorithms = 8, kMostResults = 2;

  /// Makes events on the calling thread's GPU, and some memory that both the GPU and the host can access.
  AlgorithmTrial();
  ~AlgorithmTrial();
  AlgorithmTrial(const AlgorithmTrial&) = delete;
  AlgorithmTrial& operator=(const AlgorithmTrial&) = delete;

  /// Asks the stream for a trial of `count` algorithms. `run(i)` asks for the product by algorithm i.
  /// Algorithms that cannot be launched are left out. `results` are the matrices that a run writes, C first,
  /// at most two. They then hold the results of the last run. Uses the scratch. The previous trial must be
  /// done.
  void ask(const Operation& operation, const std::vector<MatrixOnGpu>& operands,
           const std::vector<MatrixOnGpu>& results, int count, const std::function<cublasStatus_t(int)>& run);
  /// True if the GPU has finished the trial, or none was asked for.
  bool is_done(const Operation& operation) const;
  /// The fastest of the algorithms that gave the first one's bits, or the first one if none is clearly
  /// faster. Nothing if the numbers cannot show a difference. Needs is_done().
  std::optional<int> fastest(const Operation& operation) const;

 private:
  struct Board {
    Seen operands[2], results[kMostAlgorithms][kMostResults];
  };

  void free_everything() noexcept;
  void look_at(const Operation& operation, const MatrixOnGpu& matrix, Seen* seen) const;
  double seconds(const Operation& operation, int algorithm) const;

  Board* board_ = nullptr;  ///< in host memory; the GPU writes it
  cudaEvent_t begin_[kMostAlgorithms] = {}, end_[kMostAlgorithms] = {}, done_ = nullptr;
  std::vector<bool> ran_;
  std::vector<int64_t> operand_counts_, result_counts_;
};

}  // namespace shardlens::cuda
