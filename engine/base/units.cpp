// Formats quantities for people.
#include "engine/base/units.h"

#include <fmt/format.h>

#include <cmath>

namespace shardlens {

std::string three_digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

std::string in_units(double value, double base, std::span<const std::string_view> units) {
  if (!std::isfinite(value)) return std::isnan(value) ? "not a number" : value > 0 ? "∞" : "−∞";
  const std::string sign = value < 0 ? "-" : "";
  double amount = std::abs(value);
  size_t unit = 0;
  const double next = base == 1000 ? 999.5 : 1023.5;
  while (unit + 1 < units.size() && amount >= next) {
    amount /= base;
    ++unit;
  }
  const bool whole = unit == 0 && amount == std::floor(amount);
  const std::string digits = whole ? fmt::format("{:.0f}", amount) : three_digits(amount);
  return units[unit].empty() ? sign + digits : fmt::format("{}{} {}", sign, digits, units[unit]);
}

std::string bytes_text(double bytes) {
  return bytes == 1 ? "1 byte" : in_units(bytes, 1024, kBinaryByteUnits);
}

std::string decimal_bytes(double bytes) {
  return bytes == 1 ? "1 byte" : in_units(bytes, 1000, kDecimalByteUnits);
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
