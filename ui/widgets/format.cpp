// Formats numbers with three significant digits and a unit: see format.h.
#include "ui/widgets/format.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace shardlens::ui {
namespace {

/// "2.1e-7" instead of printf's "2.1e-07".
std::string scientific(double value, int decimals) {
  int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
  double mantissa = value / std::pow(10.0, exponent);
  const double ten = 10 - 0.5 * std::pow(10.0, -decimals);
  if (std::abs(mantissa) >= ten) {
    mantissa /= 10;
    ++exponent;
  }
  return fmt::format("{:.{}f}e{}", mantissa, decimals, exponent);
}

}  // namespace

std::string format_seconds(double seconds) {
  static constexpr std::array<std::string_view, 3> kUnits{"ns", "µs", "ms"};
  if (seconds == 0) return "0 s";
  if (std::abs(seconds) < 0.9995) return in_units(std::round(seconds * 1e12) / 1e3, 1000, kUnits);
  static constexpr std::array<std::string_view, 1> kSeconds{"s"};
  if (std::abs(seconds) < 600)
    return fmt::format("{}{} s", seconds < 0 ? "-" : "", three_digits(std::abs(seconds)));
  return in_units(std::round(seconds), 1e9, kSeconds);
}

std::string format_tick(double seconds) {
  if (seconds == 0) return "0";
  std::string text = format_seconds(seconds);
  const size_t point = text.find('.');
  const size_t unit = text.find(' ');
  if (point == std::string::npos || unit == std::string::npos) return text;
  size_t last = unit - 1;
  while (last > point && text[last] == '0') --last;
  if (last == point) --last;
  return text.substr(0, last + 1) + text.substr(unit);
}

std::string format_flops(double flops_per_second) {
  static constexpr std::array<std::string_view, 6> kUnits{"FLOP/s",  "kFLOP/s", "MFLOP/s",
                                                          "GFLOP/s", "TFLOP/s", "PFLOP/s"};
  return in_units(flops_per_second, 1000, kUnits);
}

std::string format_flop_count(double flops) {
  static constexpr std::array<std::string_view, 6> kUnits{"FLOP",  "kFLOP", "MFLOP",
                                                          "GFLOP", "TFLOP", "PFLOP"};
  return in_units(flops, 1000, kUnits);
}

std::string format_count(double count) {
  return in_units(count, 1000, kCountUnits);
}

std::string format_bandwidth(double bytes_per_second) {
  static constexpr std::array<std::string_view, 5> kUnits{"bytes/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return in_units(bytes_per_second, 1000, kUnits);
}

std::string format_value(double value) {
  if (value == 0) return "0";
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf";
  const double magnitude = std::abs(value);
  if (magnitude < 0.0009995 || magnitude >= 99950) return scientific(value, 1);
  if (magnitude < 0.009995) return fmt::format("{:.5f}", value);
  if (magnitude < 0.09995) return fmt::format("{:.4f}", value);
  if (magnitude < 0.9995) return fmt::format("{:.3f}", value);
  return (value < 0 ? "-" : "") +
         (magnitude < 999.5 ? three_digits(magnitude) : fmt::format("{:.0f}", magnitude));
}

std::string format_error(double error) {
  if (error == 0) return "0";
  if (!std::isfinite(error)) return format_value(error);
  return scientific(error, 1);
}

std::string relative_error_text(double error) {
  if (!std::isfinite(error)) return "not zero";
  return error < 1e-2 ? format_error(error) : fmt::format("{:.2g}", error);
}

std::string number_of(int64_t number, size_t count) {
  if (count <= 1) return grouped_text(number);
  return fmt::format("{} (0\u2013{})", grouped_text(number), grouped_text(static_cast<int64_t>(count) - 1));
}

std::string format_percent(double share) {
  const double percent = share * 100;
  if (!std::isfinite(percent)) return "–";
  return percent != 0 && std::abs(percent) < 9.95 ? fmt::format("{:.1f} %", percent)
                                                  : fmt::format("{:.0f} %", percent);
}

}  // namespace shardlens::ui
