// The number formats a tensor may have. fp32 and fp64 are executed; fp16 and bf16 can be planned and priced.
#pragma once

#include <cstdint>
#include <string>

namespace shardlens {

enum class DType { Fp32, Fp64, Fp16, Bf16 };

/// Bytes of one element.
constexpr int64_t element_bytes(DType dtype) {
  switch (dtype) {
    case DType::Fp32:
      return 4;
    case DType::Fp64:
      return 8;
    case DType::Fp16:
    case DType::Bf16:
      return 2;
  }
  return 0;
}

/// "fp32", "fp64", "fp16" or "bf16".
std::string to_string(DType dtype);

/// Inverse of to_string; throws a request Error that lists the four names.
DType parse_dtype(const std::string& text);

}  // namespace shardlens
