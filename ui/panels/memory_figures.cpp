// Figures of the Memory tab in the words people use for them.
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "ui/panels/memory_pages.h"

namespace shardlens::ui {
namespace {

std::string with_unit(double value, const char* format, const char* unit) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return std::string(text.data()) + " " + unit;
}

}  // namespace

std::string decimal_bytes(double bytes) {
  static constexpr std::array<const char*, 6> kUnits{"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  while (std::abs(bytes) >= 999.95 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  if (unit == 0) return with_unit(bytes, "%.0f", kUnits[unit]);
  return with_unit(bytes, std::abs(bytes) < 9.995 ? "%.2f" : "%.1f", kUnits[unit]);
}

std::string model_size(double parameters) {
  static constexpr std::array<const char*, 5> kUnits{"", "k", "M", "B", "T"};
  size_t unit = 0;
  while (parameters >= 999.5 && unit + 1 < kUnits.size()) {
    parameters /= 1000;
    ++unit;
  }
  return with_unit(parameters, parameters < 9.95 ? "%.1f" : "%.0f", kUnits[unit]);
}

std::string device_word(const std::string& title) {
  const size_t figure = title.find_first_of("0123456789", title.find(' '));
  if (title.find(' ') == std::string::npos || figure == std::string::npos) return title;
  std::string word = title.substr(0, figure);
  word.erase(word.find_last_not_of(" (,") + 1);
  return word;
}

std::vector<int> wall_degrees(int smallest) {
  std::vector<int> degrees{1, 2, 4, 8};
  while (degrees.back() < smallest && degrees.back() < 1024) degrees.push_back(degrees.back() * 2);
  return degrees;
}

}  // namespace shardlens::ui
