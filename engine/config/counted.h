// Writes a number with its noun, in the singular or the plural.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardlens {

/// Returns "1 pass", "1,518 passes". Leave `many` out if the plural is `one` plus an s: counted(2, "rank").
std::string counted(int64_t number, std::string_view one, std::string_view many = {});

}  // namespace shardlens
