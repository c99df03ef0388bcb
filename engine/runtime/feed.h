// What the tensors of a Program hold before its first step: weights and inputs, seeded or read from files.
// Every rank fills its own slice, and the values never depend on T. A value depends on its position only
// (engine/device/philox.h), so many threads can fill a slice at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "engine/runtime/batch.h"

namespace shardlens {

class StoredWeights;

class Feed {
 public:
  /// Opens the files that the settings name, and checks names, shapes and dtypes at once, before any rank
  /// starts. Throws a request Error that names the file, the tensor, what was found and what is needed.
  explicit Feed(const Program& program);
  ~Feed();

  /// The files that the weights are read from; none if they are seeded.
  std::vector<std::string> weight_files() const;

  /// Fills `data` (host memory) with rank `rank`'s slice: of a weight, of an input that every pass shares, or
  /// of the optimizer's state before the first update. Uses up to `threads` threads; their number changes no
  /// bit. Any thread. Throws a run Error that names the file, the tensor and the element if a file's value is
  /// NaN or infinite.
  void fill(const Tensor& tensor, int rank, int threads, void* data) const;

  /// True for tensors that begin as zeros on every rank: the optimizer's moments and an empty cache.
  bool is_zero(const Tensor& tensor) const;
  /// Returns the fp32 copy of a 16-bit weight in the optimizer's state; null if there is none. The weight is
  /// that copy, rounded.
  const Tensor* master_of(const Tensor& weight) const;
  /// Computes rank `rank`'s slice of a 16-bit weight into `data`, from the same slice of its fp32 copy. Both
  /// are in host memory.
  void round_master(const Tensor& weight, int rank, int threads, const void* master, void* data) const;
  /// Returns the weight whose fp32 copy `tensor` is; null if it is no such copy.
  const Tensor* weight_of(const Tensor& tensor) const;

  /// Fills a whole model's input for one pass with replica `replica`'s rows of the batch. All tensor-parallel
  /// ranks get the same values.
  void fill_input(const Tensor& tensor, const PassInputs& inputs, int replica, void* data) const;

 private:
  void fill_seeded(const Tensor& tensor, int rank, int threads, void* data) const;
  void fill_stored(const Tensor& tensor, int rank, void* data) const;

  const Program& program_;
  std::unique_ptr<StoredWeights> weights_;
  std::vector<double> input_;      ///< X from a file, [tokens, hidden]; empty when seeded
  std::vector<TensorId> partner_;  ///< [tensor]: a weight's fp32 copy, that copy's weight, or kNoTensor
};

}  // namespace shardlens
