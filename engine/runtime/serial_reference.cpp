// Keeps the serial run's values and their sizes.
#include "engine/runtime/serial_reference.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "engine/io/with_type.h"

namespace shardlens {
namespace {

double rms_of(const SerialValue& value) {
  if (value.dtype == DType::Int32 || value.count == 0) return 0;
  return with_type(value.dtype, [&]<typename T>(T) {
    constexpr int64_t kSums = 8;  // side by side: an addition waits for the one before
    double sums[kSums] = {};
    const auto* const data = reinterpret_cast<const T*>(value.bytes.data());
    const auto add = [&](int64_t i, int64_t sum) {
      const auto x = static_cast<double>(data[i]);
      sums[sum] += x * x;
    };
    int64_t i = 0;
    for (; i + kSums <= value.count; i += kSums)
      for (int64_t j = 0; j < kSums; ++j) add(i + j, j);
    for (; i < value.count; ++i) add(i, 0);
    return std::sqrt(std::accumulate(std::begin(sums), std::end(sums), 0.0) /
                     static_cast<double>(value.count));
  });
}

}  // namespace

void SerialReference::on_tensor(int, StepId, const Tensor& tensor, const void* data) {
  if (!wants(tensor)) return;
  const auto* begin = static_cast<const std::byte*>(data);
  SerialValue& value = values_[tensor.value];
  value.dtype = tensor.dtype;
  value.bytes.assign(begin, begin + tensor.bytes());
  value.count = element_count(tensor.shape);
  value.rms = rms_of(value);
}

const SerialValue* SerialReference::value(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

const std::vector<std::byte>* SerialReference::find(const std::string& name) const {
  const SerialValue* const found = value(name);
  return found == nullptr ? nullptr : &found->bytes;
}

std::vector<double> SerialReference::numbers(const std::string& name) const {
  const SerialValue* const found = value(name);
  if (found == nullptr) return {};
  return with_type(found->dtype, [&]<typename T>(T) {
    const auto* const data = reinterpret_cast<const T*>(found->bytes.data());
    std::vector<double> numbers(static_cast<size_t>(found->count));
    std::transform(data, data + found->count, numbers.begin(),
                   [](const T& x) { return static_cast<double>(x); });
    return numbers;
  });
}

}  // namespace shardlens
