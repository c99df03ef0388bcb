// The draws of engine/device/philox.h, one block at a time. The bits are the same, so a mask drawn on the GPU
// is the CPU's mask.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/device/cuda/portable.h"
#include "engine/device/device.h"

namespace shardlens::cuda {

/// The four words of Philox4x32-10 for the elements 4·block … 4·block + 3.
struct Words {
  uint32_t word[4];

  /// Takes an index that is known only at run time, and still keeps the array in registers.
  SHARDLENS_BOTH uint32_t at(int64_t index) const {
    const uint32_t low = index & 1 ? word[1] : word[0], high = index & 1 ? word[3] : word[2];
    return index & 2 ? high : low;
  }
};

SHARDLENS_BOTH Words philox_block(uint64_t seed, uint64_t stream, uint64_t block) {
  uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32);
  uint32_t c2 = static_cast<uint32_t>(stream), c3 = static_cast<uint32_t>(stream >> 32);
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * c0;
    const uint64_t product1 = uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(product1);
    c3 = static_cast<uint32_t>(product0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{c0, c1, c2, c3}};
}

/// A DropoutMask for kernels. Element i is dropped if its word is below `threshold`. Kept elements are
/// multiplied by `scale`.
struct Dropping {
  uint64_t seed = 0, stream = 0;
  uint32_t threshold = 0;
  double scale = 1;

  Dropping() = default;
  explicit Dropping(const DropoutMask& mask)
      : seed(mask.seed),
        stream(mask.stream),
        threshold(static_cast<uint32_t>(std::min(mask.probability * 4294967296.0, 4294967295.0))),
        scale(1.0 / (1.0 - mask.probability)) {}

  SHARDLENS_BOTH bool drops(uint32_t word) const { return word < threshold; }
};

/// Tells which elements of a run are dropped. Called in rising order, it draws a block once for its four
/// elements.
class MaskReader {
 public:
  SHARDLENS_BOTH explicit MaskReader(const Dropping& dropping) : dropping_(dropping) {}

  SHARDLENS_BOTH bool drops(int64_t element) {
    if (element >> 2 != block_) {
      block_ = element >> 2;
      words_ = philox_block(dropping_.seed, dropping_.stream, static_cast<uint64_t>(block_));
    }
    return dropping_.drops(words_.at(element & 3));
  }

 private:
  const Dropping& dropping_;
  int64_t block_ = -1;
  Words words_{};
};

}  // namespace shardlens::cuda
