// Names of the number formats.
#include "engine/base/dtype.h"

#include "engine/base/suggest.h"

namespace shardlens {

std::string to_string(DType dtype) {
  switch (dtype) {
    case DType::Fp32:
      return "fp32";
    case DType::Fp64:
      return "fp64";
    case DType::Fp16:
      return "fp16";
    case DType::Bf16:
      return "bf16";
    case DType::Int32:
      return "int32";
  }
  return "?";
}

DType parse_dtype(const std::string& text) {
  if (text == "fp32") return DType::Fp32;
  if (text == "fp64") return DType::Fp64;
  if (text == "fp16") return DType::Fp16;
  if (text == "bf16") return DType::Bf16;
  throw unknown_name("dtype", text, {"fp32", "fp64", "fp16", "bf16"});
}

}  // namespace shardlens
