#include "engine/io/hash_of_version_1.h"

#include <algorithm>
#include <cstring>

namespace shardlens {

uint64_t hash_of_version_1(const void* data, size_t bytes) {
  // Four independent multiply-and-rotate streams over 8-byte words keep up with memory; the tail is one
  // padded word.
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15ull;  // 2^64 / golden ratio
  uint64_t lanes[4] = {1, 2, 3, 4};
  const auto* at = static_cast<const unsigned char*>(data);
  const auto mix = [](uint64_t lane, uint64_t word) {
    lane = (lane ^ word) * kMultiplier;
    return (lane << 29) | (lane >> 35);
  };
  size_t left = bytes;
  for (; left >= 32; left -= 32, at += 32) {
    uint64_t words[4];
    std::memcpy(words, at, 32);
    for (int i = 0; i < 4; ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  for (; left > 0;) {
    uint64_t word = 0;
    const size_t take = std::min<size_t>(left, 8);
    std::memcpy(&word, at, take);
    lanes[0] = mix(lanes[0], word);
    at += take;
    left -= take;
  }
  uint64_t hash = bytes;
  for (uint64_t lane : lanes) hash = mix(hash, lane);
  return hash ^ (hash >> 31);
}

}  // namespace shardlens
