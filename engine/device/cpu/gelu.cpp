// GeLU and its gradient, in the tanh form (GPT-2) and the erf form (BERT). Both are x·Φ(x) with an
// approximate or the exact normal distribution Φ, written so that nothing cancels in the negative tail: the
// tanh form is x·σ(2u) with u = √(2/π)(x + 0.044715 x³), since (1 + tanh u)/2 = σ(2u).
#include <algorithm>
#include <cmath>

#include "engine/device/cpu/column_sums.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

constexpr int64_t kChunk = 4096;  // elements a thread takes at a time
constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kCubic = 0.044715;
constexpr double kInverseSqrt2 = 0.70710678118654752440;
constexpr double kInverseSqrt2Pi = 0.39894228040143267794;

/// A cumulative distribution and its density at x: y = x·value, dy/dx = value + x·slope.
template <class T>
struct Gate {
  Vector<T> value, slope;
};

/// (1 + tanh u)/2 and its slope, by exp alone. Relative error of the value below 2 ε, and in the negative
/// tail below (2 + 1.5 |2u|) ε: what the three roundings of 2u make of e^2u.
template <class T>
[[gnu::always_inline]] inline Gate<T> tanh_gate(Vector<T> x) {
  // Past ±100 the gate is exactly 0 or 1; the limit keeps the cube finite. A NaN compares false and stays.
  const Vector<T> limit = Vector<T>{} + T(100);
  Vector<T> v = x > limit ? limit : x;
  v = v < -limit ? -limit : v;
  const Vector<T> square = v * v;
  const Vector<T> zero{};
  const Vector<T> twice_u =
      v * multiply_add<T>(square, zero + T(2 * kSqrt2OverPi * kCubic), zero + T(2 * kSqrt2OverPi));
  const Vector<T> twice_du =
      multiply_add<T>(square, zero + T(6 * kSqrt2OverPi * kCubic), zero + T(2 * kSqrt2OverPi));
  const Vector<T> e = exp<T>(twice_u < zero ? twice_u : -twice_u);  // in (0, 1]: never overflows
  const Vector<T> large = T(1) / (e + T(1));
  const Vector<T> small = e * large;
  const Vector<T> value = twice_u < zero ? small : large;
  return {value, large * small * twice_du};
}

/// The upper tail 1 − Φ(z) for z >= 0, given e^(−z²/2). In fp32 the smooth rest is a polynomial in
/// t = 1/(1 + 0.24 z), fitted at the Chebyshev points of z in [0, 14]: relative error 5e-9 before rounding.
[[gnu::always_inline]] inline Vector<float> upper_tail(Vector<float> z, Vector<float> bell) {
  constexpr float kCoefficients[] = {9.574356257e-02f,  9.582895539e-02f, 8.916524170e-02f,  8.670112986e-02f,
                                     3.118686739e-02f,  1.358561959e-01f, -1.375928416e-01f, 2.005008049e-01f,
                                     -1.225291793e-01f, 2.513926427e-02f};
  const Vector<float> t = 1.0f / (z * 0.24f + 1.0f);
  Vector<float> polynomial{};
  for (int i = static_cast<int>(std::size(kCoefficients)) - 1; i >= 0; --i)
    polynomial = multiply_add<float>(polynomial, t, Vector<float>{} + kCoefficients[i]);
  return bell * t * polynomial;
}

/// fp64 is computed element by element. It is for verification, where the last bit counts and time does not.
[[gnu::always_inline]] inline Vector<double> upper_tail(Vector<double> z, Vector<double>) {
  for (int64_t i = 0; i < kLanes<double>; ++i) z[i] = 0.5 * std::erfc(z[i] * kInverseSqrt2);
  return z;
}

template <class T>
[[gnu::always_inline]] inline Gate<T> erf_gate(Vector<T> x) {
  const Vector<T> bell = exp<T>(x * x * T(-0.5));
  const Vector<T> tail = upper_tail(x < Vector<T>{} ? -x : x, bell);
  return {x < Vector<T>{} ? tail : T(1) - tail, bell * T(kInverseSqrt2Pi)};
}

/// out[i] = f(in[i] ...) for the `count` elements from `begin` on. f is to be inlined by force: whether the
/// compiler does by itself changes with its neighbours, at half as many instructions again.
template <class S, class Function, class... In>
[[gnu::always_inline]] inline void map_piece(int64_t begin, int64_t count, S* out, const Function& f,
                                             const In*... in) {
  using T = Computed<S>;
  for_vectors<T>(count, [&](int64_t j, auto n) {
    const int64_t i = begin + j;
    store_part(out + i, f(load_ahead(in + i, n, T(0))...), n);
  });
}

/// The same for all elements.
template <class S, class Function, class... In>
void map(int threads, int64_t count, S* out, const Function& f, const In*... in) {
  parallel_for(threads, (count + kChunk - 1) / kChunk, [&](int64_t piece) {
    const int64_t begin = piece * kChunk;
    map_piece(begin, std::min(kChunk, count - begin), out, f, in...);
  });
}

}  // namespace

void CpuDevice::gelu(DType dtype, Activation form, int64_t count, const void* x, void* y) {
  with_element_type(dtype, "GeLU", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const S* in = static_cast<const S*>(x);
    S* out = static_cast<S*>(y);
    if (form == Activation::GeluTanh)
      map(
          threads_, count, out,
          [](Vector<T> v) __attribute__((always_inline)) { return v * tanh_gate<T>(v).value; }, in);
    else
      map(
          threads_, count, out,
          [](Vector<T> v) __attribute__((always_inline)) { return v * erf_gate<T>(v).value; }, in);
  });
}

void CpuDevice::gelu_grad(const GeluGrad& op) {
  with_element_type(op.dtype, "the gradient of GeLU", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const S *x = static_cast<const S*>(op.x), *dy = static_cast<const S*>(op.dy);
    S* dx = static_cast<S*>(op.dx);
    const BiasSums& sums = op.sums;
    const auto pass = [&](auto gate) {
      const auto chain = [&](Vector<T> v, Vector<T> d) __attribute__((always_inline)) {
        const Gate<T> at = gate(v);
        return d * multiply_add<T>(v, at.slope, at.value);
      };
      if (sums.db == nullptr || sums.cols == 0) return map(threads_, op.count, dx, chain, x, dy);
      sum_columns(threads_, op.count / sums.cols, sums.cols, dx, static_cast<T*>(sums.db), sums.accumulate,
                  [&](int64_t at, int64_t width) { map_piece(at, width, dx, chain, x, dy); });
    };
    if (op.form == Activation::GeluTanh)
      pass([](Vector<T> v) __attribute__((always_inline)) { return tanh_gate<T>(v); });
    else
      pass([](Vector<T> v) __attribute__((always_inline)) { return erf_gate<T>(v); });
  });
}

}  // namespace shardlens::cpu
