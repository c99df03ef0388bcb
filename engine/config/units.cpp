// Quantities as people read them.
#include "engine/config/units.h"

#include <fmt/format.h>

#include <array>

namespace shardlens {

std::string bytes_text(double bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  // 999.5 would need a fourth digit before the point.
  while (unit + 1 < kUnits.size() && bytes >= 999.5) {
    bytes /= 1024;
    ++unit;
  }
  const int decimals = unit == 0 ? 0 : bytes < 9.995 ? 2 : bytes < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", bytes, decimals, kUnits[unit]);
}

std::string grouped_text(int64_t number) {
  std::string digits = std::to_string(number);
  const int64_t first = number < 0 ? 1 : 0;
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > first; i -= 3) {
    digits.insert(static_cast<size_t>(i), 1, ',');
  }
  return digits;
}

}  // namespace shardlens
