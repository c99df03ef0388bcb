// A number and the word for what it counts, which has another form for one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardlens {

/// "1 pass", "1,518 passes". `many` is left out where it is `one` and an s: counted(2, "rank").
std::string counted(int64_t number, std::string_view one, std::string_view many = {});

}  // namespace shardlens
