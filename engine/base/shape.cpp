// Counting elements, and the text of a shape.
#include "engine/base/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardlens {

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace shardlens
