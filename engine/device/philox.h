// Random values by position: element i of a named tensor is a pure function of (seed, name, i). So every rank
// fills exactly its slice, whatever T and in whatever order, and the full tensor never exists.
//
// The generator is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2,
// 3", 2011). The key is the seed; the counter is (block index, hash of the name). A block's four words serve
// four neighbouring elements: i lies in block i / 4. Normal values come from pairs of words by Box and
// Muller's transform in fp64, and an fp32 value is the rounding of the fp64 one, so that runs in both dtypes
// start from the same weights.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/base/dtype.h"

namespace shardlens {

/// One block of Philox4x32 with ten rounds.
std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// The sequence of a seed and a name: names differ, sequences are independent.
struct RandomStream {
  RandomStream(uint64_t seed_, std::string_view name);
  uint64_t seed;
  uint64_t name_hash;  ///< 64-bit FNV-1a of the name
};

/// out[j] = the uniform 32-bit word of index first + j.
void fill_words(const RandomStream& stream, int64_t first, int64_t count, uint32_t* out);

/// out[j] = mean + stddev * z(first + j) for j in [0, count), z ~ N(0, 1), |z| < 6.8. dtype is Fp32 or Fp64,
/// `out` has count elements of it. The bits of an element depend on its index alone, never on first and
/// count.
void fill_normal(const RandomStream& stream, double mean, double stddev, int64_t first, int64_t count,
                 DType dtype, void* out);

/// out[j] = an integer, uniform in [-limit, limit], for index first + j. limit is in [0, 2^24], so fp32 holds
/// it.
void fill_integers(const RandomStream& stream, int limit, int64_t first, int64_t count, DType dtype,
                   void* out);

}  // namespace shardlens
