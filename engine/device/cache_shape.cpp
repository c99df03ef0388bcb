// Checks the positions of new tokens in a cache, for every device.
#include <string>

#include "engine/base/error.h"
#include "engine/device/device.h"

namespace shardlens {

int64_t CacheShape::first_position(int64_t sequence) const {
  const int32_t* own = positions + sequence * seq;
  const int64_t first = own[0];
  if (first < 0 || first + seq > room)
    throw request_error("tokens at positions " + std::to_string(first) + " to " +
                        std::to_string(first + seq - 1) + " have no room in a cache of " +
                        std::to_string(room) + ": give a shorter text");
  for (int64_t i = 1; i < seq; ++i)
    if (own[i] != first + i)
      throw request_error("position " + std::to_string(own[i]) + " does not follow position " +
                          std::to_string(own[i - 1]) +
                          ": the new tokens of a sequence must have consecutive positions");
  return first;
}

}  // namespace shardlens
