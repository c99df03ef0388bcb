// A stream of random numbers for one item (a sample, a document). The same key and index give the same
// numbers in the same order, on any thread and at any time. It is Philox with the place in the stream as its
// counter.
#pragma once

#include <cstdint>

#include "engine/device/philox.h"

namespace shardlens {

class Draws {
 public:
  /// Stream number `index` for `purpose` and `seed`.
  Draws(uint64_t seed, uint32_t purpose, uint64_t index) : seed_(seed), purpose_(purpose), index_(index) {}

  uint32_t next() {
    if (place_ % 4 == 0)
      words_ = philox4x32_10(
          {place_ / 4, purpose_, static_cast<uint32_t>(index_), static_cast<uint32_t>(index_ >> 32)},
          {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    return words_[place_++ % 4];
  }
  /// Uniform in [0, count), count in [1, 2^32). A probability is off by less than count / 2^32, relatively.
  uint32_t below(uint32_t count) {
    return static_cast<uint32_t>((static_cast<uint64_t>(next()) * count) >> 32);
  }
  /// Uniform in [0, 1).
  double uniform() { return next() * 0x1p-32; }

 private:
  uint64_t seed_;
  uint32_t purpose_;
  uint64_t index_;
  uint32_t place_ = 0;
  std::array<uint32_t, 4> words_{};
};

}  // namespace shardlens
