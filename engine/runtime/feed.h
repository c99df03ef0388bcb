// What the tensors of a Program hold before its first step: weights and inputs, seeded or read from files.
// Every rank fills its own slice, and the slice never depends on T (DESIGN section 4).
#pragma once

#include <memory>

#include "engine/program/program.h"

namespace shardlens {

class SafetensorsFile;

class Feed {
 public:
  /// Opens the files the settings name, and checks names, shapes and dtypes at once, before any rank starts.
  /// Throws a request Error that names file, tensor, what was found and what is needed.
  explicit Feed(const Program& program);
  ~Feed();

  /// Fills `data` (host memory) with rank `rank`'s slice of an input or weight. Any thread. Throws a run
  /// Error that names the tensor, the rank and the element when a file's value is NaN or infinite.
  void fill(const Tensor& tensor, int rank, void* data) const;

 private:
  void fill_seeded(const Tensor& tensor, int rank, void* data) const;

  const Program& program_;
  std::unique_ptr<SafetensorsFile> weights_;
  std::vector<double> input_;  ///< X from a file, [tokens, hidden]; empty when seeded
};

}  // namespace shardlens
