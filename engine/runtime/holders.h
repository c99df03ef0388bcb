// Which of the ranks that share a layer hold the same slices: where tensors are held more than once, ranks
// that follow each other.
#pragma once

#include <algorithm>

#include "engine/program/program.h"

namespace shardlens {

/// In how many copies the slices that are held more than once are held: the size of a group of holders.
inline int most_copies(const Program& program) {
  int copies = 1;
  for (const Tensor& tensor : program.tensors) copies = std::max(copies, tensor.layout.copies);
  return copies;
}

}  // namespace shardlens
