// Transposes 16 × 16 words in AVX-512 registers. The files that include this are compiled for AVX-512 even if
// the rest of the program is not, and are called only if the processor has it.
#pragma once

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl")

namespace shardlens::cpu {

inline constexpr int64_t kLane = 16;  ///< words in a register

using Register = __m512i;
/// Not a std::array, whose template arguments would lose the register's alignment.
using Square = Register[kLane];

/// Swaps the two off-diagonal blocks in every 2 × 2 blocks of `distance` × `distance`.
template <int distance>
[[gnu::always_inline]] inline void exchange(Square& square) {
  struct Orders {
    std::array<uint32_t, kLane> upper{}, lower{};
  };
  alignas(64) static constexpr auto kOrders = [] {
    Orders orders;
    for (uint32_t i = 0; i < kLane; ++i) {
      const bool right = (i & distance) != 0;
      orders.upper[i] = right ? i - distance + kLane : i;
      orders.lower[i] = right ? i + kLane : i + distance;
    }
    return orders;
  }();
  const Register upper_order = _mm512_load_si512(kOrders.upper.data());
  const Register lower_order = _mm512_load_si512(kOrders.lower.data());
#pragma GCC unroll 16
  for (size_t row = 0; row < kLane; ++row) {
    if ((row & distance) != 0) continue;
    const Register upper = square[row], lower = square[row + distance];
    square[row] = _mm512_permutex2var_epi32(upper, upper_order, lower);
    square[row + distance] = _mm512_permutex2var_epi32(upper, lower_order, lower);
  }
}

[[gnu::always_inline]] inline void transpose(Square& square) {
  exchange<8>(square);
  exchange<4>(square);
  exchange<2>(square);
  exchange<1>(square);
}

}  // namespace shardlens::cpu

#pragma GCC pop_options
