// Rounds a picture's cells at the speed of memory, so that the writer of a recording takes little time from
// the ranks' cores.
#include "engine/device/cells.h"

#include <cmath>
#include <limits>

#include "engine/device/cpu/vector.h"

namespace shardlens {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr int kExponentOfLargest = 15;  // the largest cell becomes less than 2^15: rounding cannot overflow

float largest_of(const float* cells, int64_t count) {
  cpu::FloatVector most = {};
  cpu::for_vectors<float>(count, [&](int64_t i, auto n) {
    cpu::FloatVector cell = cpu::load_part(cells + i, n, 0.0f);
    cell = cell < 0 ? -cell : cell;
    cell = cell <= kLargest ? cell : cpu::FloatVector{};
    most = cell > most ? cell : most;
  });
  return cpu::max_lanes<float>(most);
}

}  // namespace

int narrow_cells(const float* cells, int64_t count, uint16_t* halves) {
  int above = 0;  // 2^above is more than the largest
  std::frexp(largest_of(cells, count), &above);
  const int exponent = above - kExponentOfLargest;
  // Two factors, because one alone may be outside of fp32's range.
  const float half = std::ldexp(1.0f, -exponent / 2), rest = std::ldexp(1.0f, -exponent - -exponent / 2);
  auto* const to = reinterpret_cast<Fp16*>(halves);
  cpu::for_vectors<float>(count, [&](int64_t i, auto n) {
    cpu::store_part(to + i, cpu::load_part(cells + i, n, 0.0f) * half * rest, n);
  });
  return exponent;
}

void widen_cells(const uint16_t* halves, int64_t count, int exponent, float* cells) {
  const float half = std::ldexp(1.0f, exponent / 2), rest = std::ldexp(1.0f, exponent - exponent / 2);
  const auto* const from = reinterpret_cast<const Fp16*>(halves);
  cpu::for_vectors<float>(count, [&](int64_t i, auto n) {
    cpu::store_part(cells + i, cpu::load_part(from + i, n, 0.0f) * half * rest, n);
  });
}

}  // namespace shardlens
