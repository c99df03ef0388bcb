// The optimizer's passes over memory: the gradients' norm, the factor that clips it, and AdamW in one pass
// over parameter, gradient and both moments.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

constexpr int64_t kChunk = 16384;      // elements a thread takes at a time
constexpr int64_t kAsked = 64;         // elements that are prefetched at a time
constexpr int64_t kSums = 16;          // running sums: enough to keep the adders busy
constexpr double kClipEpsilon = 1e-6;  // keeps the factor finite when all gradients are zero

/// As many numbers as a vector of fp64 holds, as fp64.
template <class T>
[[gnu::always_inline]] inline Vector<double> widened(const T* from) {
  typedef T Numbers __attribute__((vector_size(kLanes<double> * sizeof(T))));
  Numbers numbers;
  std::memcpy(&numbers, from, sizeof numbers);
  return __builtin_convertvector(numbers, Vector<double>);
}

/// Returns sum + Σ x². The sums of the pieces are added in order.
template <class T>
double add_squares(int threads, int64_t count, const T* in, double sum) {
  const int64_t pieces = (count + kChunk - 1) / kChunk;
  std::vector<double> sums(static_cast<size_t>(pieces), 0.0);
  parallel_for(threads, pieces, [&](int64_t piece) {
    const T* __restrict x = in + piece * kChunk;
    const int64_t size = std::min(kChunk, count - piece * kChunk);
    constexpr int64_t kParts = kSums / kLanes<double>;
    Vector<double> parts[kParts] = {};
    int64_t i = 0;
    for (; i + kSums <= size; i += kSums) {
      ask_ahead(x + i);
      for (int64_t part = 0; part < kParts; ++part) {
        const Vector<double> value = widened(x + i + part * kLanes<double>);
        parts[part] += value * value;
      }
    }
    double lanes[kSums];
    std::memcpy(lanes, parts, sizeof lanes);
    for (; i < size; ++i) lanes[i % kSums] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    double piece_sum = 0;
    for (const double lane : lanes) piece_sum += lane;
    sums[static_cast<size_t>(piece)] = piece_sum;
  });
  for (const double part : sums) sum += part;
  return sum;
}

void update(int threads, const AdamWStep& step) {
  if (*step.factor == 0) return;
  with_element_type(step.dtype, "AdamW", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const T factor = static_cast<T>(*step.factor);
    const T beta1 = static_cast<T>(step.beta1), beta2 = static_cast<T>(step.beta2);
    const T rest1 = static_cast<T>(1 - step.beta1), rest2 = static_cast<T>(1 - step.beta2);
    const T keep = static_cast<T>(1 - step.learning_rate * step.weight_decay);
    const double power = static_cast<double>(step.iteration);
    const T rate = static_cast<T>(step.learning_rate / (1 - std::pow(step.beta1, power)));
    const T root = static_cast<T>(1 / std::sqrt(1 - std::pow(step.beta2, power)));
    const T epsilon = static_cast<T>(step.epsilon);
    parallel_for(threads, (step.count + kChunk - 1) / kChunk, [=](int64_t piece) {
      const int64_t first = piece * kChunk;
      const int64_t size = std::min(kChunk, step.count - first);
      void* updated = step.master != nullptr ? step.master : step.parameter;
      T* __restrict p = static_cast<T*>(updated) + first;
      const T* __restrict g = static_cast<const T*>(step.gradient) + first;
      T* __restrict m = static_cast<T*>(step.first_moment) + first;
      T* __restrict v = static_cast<T*>(step.second_moment) + first;
      for (int64_t begin = 0; begin < size; begin += kAsked) {
        for (const T* operand :
             {g, static_cast<const T*>(p), static_cast<const T*>(m), static_cast<const T*>(v)})
          ask_for(operand, begin + static_cast<int64_t>(kAheadBytes / sizeof(T)), kAsked);
        const int64_t end = std::min(size, begin + kAsked);
        for (int64_t i = begin; i < end; ++i) {
          const T gradient = g[i] * factor;
          m[i] = beta1 * m[i] + rest1 * gradient;
          v[i] = beta2 * v[i] + rest2 * gradient * gradient;
          p[i] = p[i] * keep - rate * m[i] / (std::sqrt(v[i]) * root + epsilon);
        }
        if (step.master != nullptr)
          convert_row(p + begin, end - begin, static_cast<S*>(step.parameter) + first + begin);
      }
    });
  });
}

}  // namespace

void CpuDevice::square_sum(DType dtype, std::span<const ListedTensor> tensors, double* total) {
  with_wide_type(dtype, "a sum of squares", [&](auto zero) {
    using T = decltype(zero);
    double sum = 0;
    for (const ListedTensor& tensor : tensors)
      sum = add_squares(threads_, tensor.count, static_cast<const T*>(tensor.data), sum);
    *total = sum;
  });
}

void CpuDevice::clip_factor(const ClipFactor& op) {
  double squares = 0;
  for (const double* sum : op.sums) squares += *sum;
  double scale = 1;
  if (op.scale != nullptr)
    scale = op.scale_dtype == DType::Fp64 ? *static_cast<const double*>(op.scale)
                                          : static_cast<double>(*static_cast<const float*>(op.scale));
  const double norm = std::sqrt(squares) / scale;
  const double limit = op.clip > 0 ? std::min(1.0, op.clip / (norm + kClipEpsilon)) : 1.0;
  op.factor[0] = std::isfinite(norm) ? limit / scale : 0.0;
  op.factor[1] = norm;
}

void CpuDevice::adamw(std::span<const AdamWStep> steps) {
  for (const AdamWStep& step : steps) update(threads_, step);
}

}  // namespace shardlens::cpu
