// Which of the ranks that share a layer hold the same slices: if tensors are held more than once, consecutive
// ranks hold the same slice.
#pragma once

#include <algorithm>

#include "engine/program/program.h"

namespace shardlens {

/// The number of copies of the slices that are held more than once: the size of a group of holders.
inline int most_copies(const Program& program) {
  int copies = 1;
  for (const Tensor& tensor : program.tensors) copies = std::max(copies, tensor.layout.copies);
  return copies;
}

}  // namespace shardlens
