// Shared by the tests of the device's operations: seeded operands, comparison with a reference, central
// differences.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <type_traits>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/io/half.h"
#include "engine/program/layout.h"

namespace shardlens {

template <class T>
inline constexpr DType kDType = sizeof(T) == 4 ? DType::Fp32 : DType::Fp64;

/// Bound on the relative error of a sum of a few thousand products.
template <class T>
inline constexpr double kBound = sizeof(T) == 4 ? 2e-6 : 4e-15;

template <class T>
std::vector<T> normal(int64_t count, unsigned seed, double mean = 0.0, double deviation = 1.0) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> distribution(mean, deviation);
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values) value = static_cast<T>(distribution(generator));
  return values;
}

/// What tensors are stored as.
using Stored = ::testing::Types<float, double, Bf16, Fp16>;

template <class S>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<S, Bf16>) return DType::Bf16;
  if constexpr (std::is_same_v<S, Fp16>) return DType::Fp16;
  return kDType<S>;
}

/// normal() in fp32, rounded to S.
template <class S>
std::vector<S> stored(int64_t count, unsigned seed) {
  std::vector<S> numbers;
  for (const float value : normal<float>(count, seed)) numbers.push_back(static_cast<S>(value));
  return numbers;
}

/// Norm of the difference over the norm of the reference.
template <class T, class R>
double relative_error(const std::vector<T>& values, const std::vector<R>& reference) {
  if (values.size() != reference.size()) return INFINITY;
  double difference = 0, norm = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double d = static_cast<double>(values[i]) - static_cast<double>(reference[i]);
    difference += d * d;
    norm += static_cast<double>(reference[i]) * static_cast<double>(reference[i]);
  }
  return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Gradient of `loss` with respect to `x` by central differences.
inline std::vector<double> finite_differences(std::vector<double> x,
                                              const std::function<double(const std::vector<double>&)>& loss) {
  std::vector<double> gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double centre = x[i], step = 1e-5 * std::max(1.0, std::abs(centre));
    x[i] = centre + step;
    const double above = loss(x);
    x[i] = centre - step;
    const double below = loss(x);
    x[i] = centre;
    gradient[i] = (above - below) / (2 * step);
  }
  return gradient;
}

/// Columns [begin, end) of a row-major matrix with `cols` columns.
template <class T>
std::vector<T> columns(const std::vector<T>& matrix, int64_t cols, Range range) {
  std::vector<T> part;
  for (int64_t row = 0; row * cols < static_cast<int64_t>(matrix.size()); ++row)
    part.insert(part.end(), matrix.begin() + row * cols + range.begin,
                matrix.begin() + row * cols + range.end);
  return part;
}

/// Rows [begin, end) of a row-major matrix with `cols` columns.
template <class T>
std::vector<T> rows(const std::vector<T>& matrix, int64_t cols, Range range) {
  return {matrix.begin() + range.begin * cols, matrix.begin() + range.end * cols};
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace shardlens
