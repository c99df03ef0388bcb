// Calls code with the type that elements of a dtype are stored as.
#pragma once

#include <cstdint>

#include "engine/base/dtype.h"
#include "engine/io/half.h"

namespace shardlens {

/// use(T{}), where T is the type of the elements.
template <typename Use>
auto with_type(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::Fp64:
      return use(double{});
    case DType::Bf16:
      return use(Bf16{});
    case DType::Fp16:
      return use(Fp16{});
    case DType::Int32:
      return use(int32_t{});
    default:
      return use(float{});
  }
}

}  // namespace shardlens
