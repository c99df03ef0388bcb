// Quantities as people read them, in one place, so that a figure looks the same in an error, on screen and in
// a table.
#pragma once

#include <cstdint>
#include <string>

namespace shardlens {

/// Binary units, three digits: "512 B", "112 MiB", "1.02 TiB".
std::string bytes_text(double bytes);

/// With separators between thousands: "117,440,512".
std::string grouped_text(int64_t number);

}  // namespace shardlens
