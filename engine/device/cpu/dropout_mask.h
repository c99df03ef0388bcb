// Applies a dropout mask to a run of elements in place. The dropout pass uses it, and attention, for its
// probabilities.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/device/device.h"
#include "engine/device/philox.h"

namespace shardlens::cpu {

/// values[j] becomes 0 if element first + j of the full tensor is dropped, and values[j] / (1 - p) otherwise.
template <class T>
void drop(const DropoutMask& mask, int64_t first, int64_t count, T* values) {
  constexpr int64_t kDraws = 1024;  // at a time
  const auto threshold = static_cast<uint32_t>(std::min(mask.probability * 4294967296.0, 4294967295.0));
  const T scale = T(1.0 / (1.0 - mask.probability));
  RandomStream stream(mask.seed, "");
  stream.name_hash = mask.stream;
  uint32_t words[kDraws];
  for (int64_t done = 0; done < count; done += kDraws) {
    const int64_t size = std::min(kDraws, count - done);
    fill_words(stream, first + done, size, words);
    for (int64_t j = 0; j < size; ++j)
      values[done + j] = words[j] < threshold ? T(0) : values[done + j] * scale;
  }
}

}  // namespace shardlens::cpu
