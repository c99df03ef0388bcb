// The extents of a tensor, and a range of one of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardlens {

using Shape = std::vector<int64_t>;

/// Product of the extents; 1 for an empty shape.
int64_t element_count(const Shape& shape);

/// "[1024, 768]".
std::string to_string(const Shape& shape);

/// [begin, end) of one rank's slice.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

}  // namespace shardlens
