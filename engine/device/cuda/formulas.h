// The formulas for one element. They have the CPU's operations in the same order (cpu/gelu.cpp,
// cpu/optimizer.cpp, cpu/softmax_rows.h), but CUDA's exp, tanh and erfc instead of the CPU's vector
// functions.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/device/cuda/portable.h"
#include "engine/device/device.h"

namespace shardlens::cuda {

/// A cumulative distribution and its density at x: y = x·value, dy/dx = value + x·slope.
template <class T>
struct Gate {
  T value, slope;
};

/// x·σ(2u) with u = √(2/π)(x + 0.044715 x³): nothing cancels in the negative tail.
template <class T>
SHARDLENS_BOTH Gate<T> tanh_gate(T x) {
  constexpr double kSqrt2OverPi = 0.79788456080286535588, kCubic = 0.044715;
  T v = x > T(100) ? T(100) : x;  // past ±100 the gate is exactly 0 or 1; a NaN compares false and stays
  v = v < T(-100) ? T(-100) : v;
  const T square = v * v;
  const T twice_u = v * (square * T(2 * kSqrt2OverPi * kCubic) + T(2 * kSqrt2OverPi));
  const T twice_du = square * T(6 * kSqrt2OverPi * kCubic) + T(2 * kSqrt2OverPi);
  const T e = std::exp(twice_u < T(0) ? twice_u : -twice_u);  // in (0, 1]
  const T large = T(1) / (e + T(1));
  const T small = e * large;
  return {twice_u < T(0) ? small : large, large * small * twice_du};
}

template <class T>
SHARDLENS_BOTH Gate<T> erf_gate(T x) {
  constexpr double kInverseSqrt2 = 0.70710678118654752440, kInverseSqrt2Pi = 0.39894228040143267794;
  const T tail = T(0.5) * std::erfc((x < T(0) ? -x : x) * T(kInverseSqrt2));
  return {x < T(0) ? tail : T(1) - tail, std::exp(x * x * T(-0.5)) * T(kInverseSqrt2Pi)};
}

template <class T>
SHARDLENS_BOTH Gate<T> gelu_gate(Activation form, T x) {
  return form == Activation::GeluTanh ? tanh_gate(x) : erf_gate(x);
}

/// clamp(nearest integer, -high, high), ties to even; a NaN stays.
template <class T>
SHARDLENS_BOTH T rounded(T x, T high) {
  const T nearest = std::rint(x);
  const T capped = nearest > high ? high : nearest;
  return capped < -high ? -high : capped;
}

/// One probability from its scaled score and the statistics of its row.
template <class T>
SHARDLENS_BOTH T probability(T scaled, T top, T inverse) {
  return std::exp(scaled - top) * inverse;
}

/// dS from P, P∘M (equal to P without dropout), dP and delta = dC·C. For a dropped probability dP does not
/// count, but delta does.
template <class T>
SHARDLENS_BOTH T score_gradient(T prob, T used, T dprob, T delta, T scale, bool has_dropout) {
  return has_dropout ? (used * dprob - prob * delta) * scale : prob * (dprob - delta) * scale;
}

/// The numbers of an AdamW step that are the same for every element, rounded once to the type of the
/// computation.
template <class T>
struct AdamWNumbers {
  T beta1, beta2, rest1, rest2, keep, rate, root, epsilon;

  explicit AdamWNumbers(const AdamWStep& step)
      : beta1(static_cast<T>(step.beta1)),
        beta2(static_cast<T>(step.beta2)),
        rest1(static_cast<T>(1 - step.beta1)),
        rest2(static_cast<T>(1 - step.beta2)),
        keep(kept(step)),
        rate(static_cast<T>(step.learning_rate /
                            (1 - std::pow(step.beta1, static_cast<double>(step.iteration))))),
        root(static_cast<T>(1 / std::sqrt(1 - std::pow(step.beta2, static_cast<double>(step.iteration))))),
        epsilon(static_cast<T>(step.epsilon)) {}

  /// The factor of a parameter after weight decay.
  static T kept(const AdamWStep& step) { return static_cast<T>(1 - step.learning_rate * step.weight_decay); }

  /// Updates m, v and p of one element with the gradient g = factor·gradient.
  SHARDLENS_BOTH void update(T g, T& m, T& v, T& p) const {
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    p = p * keep - rate * m / (std::sqrt(v) * root + epsilon);
  }
};

/// factor[0] and factor[1] of Device::clip_factor() from the sum of squares.
SHARDLENS_BOTH void clip_numbers(double squares, double loss_scale, double clip, double* factor) {
  constexpr double kClipEpsilon = 1e-6;  // keeps the factor finite when all gradients are zero
  const double norm = std::sqrt(squares) / loss_scale;
  const double wanted = clip / (norm + kClipEpsilon);
  const double limit = clip > 0 && wanted < 1.0 ? wanted : 1.0;
  factor[0] = std::isfinite(norm) ? limit / loss_scale : 0.0;
  factor[1] = norm;
}

}  // namespace shardlens::cuda
