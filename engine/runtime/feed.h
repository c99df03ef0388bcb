// What the tensors of a Program hold before its first step: weights and inputs, seeded or read from files.
// Every rank fills its own slice, and the slice never depends on T (DESIGN section 4).
#pragma once

#include <memory>

#include "engine/program/program.h"
#include "engine/runtime/batch.h"

namespace shardlens {

class StoredWeights;

class Feed {
 public:
  /// Opens the files the settings name, and checks names, shapes and dtypes at once, before any rank starts.
  /// Throws a request Error that names file, tensor, what was found and what is needed.
  explicit Feed(const Program& program);
  ~Feed();

  /// Fills `data` (host memory) with rank `rank`'s slice of a weight, of an input that every pass shares, or
  /// of the optimizer's state before the first update. Any thread. Throws a run Error that names the tensor,
  /// the rank and the element when a file's value is NaN or infinite.
  void fill(const Tensor& tensor, int rank, void* data) const;

  /// Fills a whole model's input for one pass: replica `replica`'s rows of the batch. All tensor-parallel
  /// ranks get the same.
  void fill_input(const Tensor& tensor, const PassInputs& inputs, int replica, void* data) const;

 private:
  void fill_seeded(const Tensor& tensor, int rank, void* data) const;
  void fill_stored(const Tensor& tensor, int rank, void* data) const;
  const Tensor& weight_of(const Tensor& master) const;

  const Program& program_;
  std::unique_ptr<StoredWeights> weights_;
  std::vector<double> input_;  ///< X from a file, [tokens, hidden]; empty when seeded
};

}  // namespace shardlens
