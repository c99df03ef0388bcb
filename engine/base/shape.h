// The extents of a tensor.
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

}  // namespace shardlens
