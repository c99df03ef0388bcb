// Compares the tensors of two runs of the same settings, each within a bound relative to its own size.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "engine/io/half.h"
#include "engine/runtime/gather.h"

namespace shardlens::testing {

inline std::vector<double> values_of(const GatheredTensor& tensor) {
  const int64_t count = element_count(tensor.shape);
  std::vector<double> values(static_cast<size_t>(count));
  if (is_half(tensor.dtype)) {
    const std::vector<float> wide = widened(tensor.dtype, tensor.bytes.data(), count);
    std::copy(wide.begin(), wide.end(), values.begin());
  } else if (tensor.dtype == DType::Fp64) {
    std::copy_n(reinterpret_cast<const double*>(tensor.bytes.data()), count, values.begin());
  } else {
    std::copy_n(reinterpret_cast<const float*>(tensor.bytes.data()), count, values.begin());
  }
  return values;
}

/// Every tensor of `found` within `bound` of the expected one, relative to its norm. A NaN is never near. An
/// infinity, the maximum of no logits, must be the expected one.
inline void expect_agreement(const std::map<std::string, GatheredTensor>& expected,
                             const std::map<std::string, GatheredTensor>& found, double bound,
                             const std::string& what) {
  for (const auto& [name, tensor] : found) {
    const std::vector<double> numbers = values_of(tensor), wanted = values_of(expected.at(name));
    ASSERT_EQ(numbers.size(), wanted.size()) << name << " " << what;
    double difference = 0, size = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (std::isinf(wanted[i]) && numbers[i] == wanted[i]) continue;
      difference += (numbers[i] - wanted[i]) * (numbers[i] - wanted[i]);
      size += wanted[i] * wanted[i];
    }
    EXPECT_LE(std::sqrt(difference), bound * std::sqrt(size) + 1e-30) << name << " " << what;
  }
}

}  // namespace shardlens::testing
