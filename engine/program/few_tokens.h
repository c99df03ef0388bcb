// How long a pass may be to count as one over few tokens, which is what generating text token by token takes:
// its products have few rows, so memory and launches limit its speed.
#pragma once

#include <cstdint>

namespace shardlens {

inline constexpr int64_t kFewTokens = 8;

}  // namespace shardlens
