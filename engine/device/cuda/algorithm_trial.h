// The trial of a product's algorithms, on the GPU and behind everybody's back: each of them works out C, what
// it left is looked at by a kernel, and each is timed by events. Nobody waits for it: the stream is asked for
// all of it at once, and what came of it is read when it is done.
//
// Which of them is faster may differ from run to run and from rank to rank, and no bit may: so the fastest is
// one of those that gave the first one's bits, and only where the numbers could tell. Sums of zeros, of small
// integers and of powers of two are the same in every order.
#pragma once

#include <cublasLt.h>

#include <functional>
#include <optional>
#include <vector>

#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

/// [rows, cols] in rows of `stride` elements.
struct MatrixOnGpu {
  DType dtype = DType::Fp32;
  int64_t rows = 0, cols = 0, stride = 0;
  const void* data = nullptr;

  int64_t count() const { return rows * cols; }
};

/// What a kernel saw of a matrix.
struct Seen {
  unsigned long long hash = 0;     ///< of all elements' bits and places
  unsigned long long telling = 0;  ///< elements by which an order of sums shows
  bool operator==(const Seen&) const = default;
};

class AlgorithmTrial {
 public:
  static constexpr int kMostAlgorithms = 8, kMostResults = 2;

  /// On the calling thread's GPU: events, and some room that the GPU and the host see.
  AlgorithmTrial();
  ~AlgorithmTrial();
  AlgorithmTrial(const AlgorithmTrial&) = delete;
  AlgorithmTrial& operator=(const AlgorithmTrial&) = delete;

  /// Asks the stream for the trial of `count` algorithms: `run(i)` asks for the product by algorithm i. One
  /// that cannot be launched is left out. `results` are what a run writes, C first, at most two; they hold
  /// afterwards what the last one left. Takes scratch. Not before the trial before it is_done().
  void ask(const Operation& operation, const std::vector<MatrixOnGpu>& operands,
           const std::vector<MatrixOnGpu>& results, int count, const std::function<cublasStatus_t(int)>& run);
  /// Whether the GPU has done it, or nothing was asked for.
  bool is_done(const Operation& operation) const;
  /// The fastest of those that gave the first one's bits; the first, where none is clearly faster; nothing,
  /// where the numbers could not tell. Once it is_done().
  std::optional<int> fastest(const Operation& operation) const;

 private:
  struct Board {
    Seen operands[2], results[kMostAlgorithms][kMostResults];
  };

  void free_everything() noexcept;
  void look_at(const Operation& operation, const MatrixOnGpu& matrix, Seen* seen) const;
  double seconds(const Operation& operation, int algorithm) const;

  Board* board_ = nullptr;  ///< in host memory that the GPU writes
  cudaEvent_t begin_[kMostAlgorithms] = {}, end_[kMostAlgorithms] = {}, done_ = nullptr;
  std::vector<bool> ran_;
  std::vector<int64_t> operand_counts_, result_counts_;
};

}  // namespace shardlens::cuda
