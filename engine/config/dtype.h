// The number formats of a tensor. A run computes in one of the four floating-point formats; Int32 holds
// tokens, positions and labels.
#pragma once

#include <cstdint>
#include <string>

namespace shardlens {

enum class DType { Fp32, Fp64, Fp16, Bf16, Int32 };

/// Bytes of one element.
constexpr int64_t element_bytes(DType dtype) {
  switch (dtype) {
    case DType::Fp32:
    case DType::Int32:
      return 4;
    case DType::Fp64:
      return 8;
    case DType::Fp16:
    case DType::Bf16:
      return 2;
  }
  return 0;
}

/// "fp32", "fp64", "fp16", "bf16" or "int32".
std::string to_string(DType dtype);

/// Returns the floating-point format with this name (the formats that a run computes in). Throws a request
/// Error that lists the four.
DType parse_dtype(const std::string& text);

}  // namespace shardlens
