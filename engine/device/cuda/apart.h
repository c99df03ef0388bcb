// Whether the tensors of several operations may be read and written by one kernel. The memory of a tensor
// that only the first operation reads may belong to a result of the second one, and the blocks of one kernel
// do not wait for one another.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "engine/config/settings.h"

namespace shardlens::cuda {

/// `count` elements; empty if `data` is null.
struct Region {
  const void* data = nullptr;
  int64_t count = 0;
  DType dtype = DType::Fp32;

  uintptr_t begin() const { return reinterpret_cast<uintptr_t>(data); }
  uintptr_t end() const {
    return data == nullptr ? 0 : begin() + static_cast<uintptr_t>(count * element_bytes(dtype));
  }
};

/// True if none of `some` has a byte of one of `others`.
inline bool are_apart(std::initializer_list<Region> some, std::initializer_list<Region> others) {
  for (const Region& a : some)
    for (const Region& b : others)
      if (a.begin() < b.end() && b.begin() < a.end()) return false;
  return true;
}

}  // namespace shardlens::cuda
