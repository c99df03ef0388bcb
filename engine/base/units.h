// Formats quantities for people, in one place, so that a figure looks the same in an error, on screen and in
// a table.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shardlens {

/// Returns `value` >= 0 with three significant digits: "9.99", "99.9", "999".
std::string three_digits(double value);

/// Returns `value` in the largest of `units` (each `base` times the one before it) in which it is at least 1,
/// with three significant digits; whole numbers in the first unit. If it rounds up to `base`, the next unit
/// is used, so "1000 k" is never shown for "1.00 M". A negative value keeps its sign.
std::string in_units(double value, double base, std::span<const std::string_view> units);

/// What the letter B means: alone it is a billion, as in the names of models ("8.3 B"). Bytes have a prefix,
/// or are written out ("2 bytes"), so that the two never look alike.
inline constexpr std::array<std::string_view, 5> kCountUnits{"", "k", "M", "B", "T"};
inline constexpr std::array<std::string_view, 7> kBinaryByteUnits{"bytes", "KiB", "MiB", "GiB",
                                                                  "TiB",   "PiB", "EiB"};
inline constexpr std::array<std::string_view, 6> kDecimalByteUnits{"bytes", "kB", "MB", "GB", "TB", "PB"};

/// Returns bytes in binary units: "1 byte", "512 bytes", "112 MiB", "1.02 TiB".
std::string bytes_text(double bytes);
/// Returns bytes in decimal units, as devices are sold: "1 byte", "1.99 GB", "16.6 GB", "133 GB".
std::string decimal_bytes(double bytes);

/// Returns `number` with separators between thousands: "117,440,512".
std::string grouped_text(int64_t number);

}  // namespace shardlens
