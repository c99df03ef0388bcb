// Names of the number formats.
#include "engine/base/dtype.h"

#include "engine/base/words.h"

namespace shardlens {
namespace {

// Those that ranks compute in.
constexpr Word<DType> kDTypeWords[] = {
    {DType::Fp32, "fp32"}, {DType::Fp64, "fp64"}, {DType::Fp16, "fp16"}, {DType::Bf16, "bf16"}};

}  // namespace

std::string to_string(DType dtype) {
  return dtype == DType::Int32 ? "int32" : word_of(kDTypeWords, dtype);
}

DType parse_dtype(const std::string& text) {
  return parse_word(kDTypeWords, "dtype", text);
}

}  // namespace shardlens
