// The colour tables of both themes. These tokens are the only literal colours in the studio, so a theme is a
// table, and switching it is one assignment. Nothing here calls Dear ImGui, so charts without a window use
// the same colours.
#include "ui/theme/theme.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace shardlens::ui {
namespace {

/// Converts 0xRRGGBB to Dear ImGui's opaque packed colour.
constexpr ImU32 rgb(uint32_t hex) {
  return IM_COL32((hex >> 16) & 0xFF, (hex >> 8) & 0xFF, hex & 0xFF, 0xFF);
}

constexpr Theme kDark{
    .name = ThemeName::Dark,
    .window = rgb(0x0D1117),
    .panel = rgb(0x141A22),
    .card = rgb(0x1B232D),
    .line = rgb(0x2B3644),
    .ghost = rgb(0x232D39),
    .text = rgb(0xE8EDF3),
    .dim = rgb(0x8B98A8),
    .faint = rgb(0x5A6675),
    .forward = rgb(0x5AA9FF),
    .backward = rgb(0xB79BFF),
    .communication = rgb(0xF2A93B),
    .agreement = rgb(0x4CC9B0),
    .recording = rgb(0xFF6B6B),
    .ranks = {rgb(0x56B4E9), rgb(0xE69F00), rgb(0x2FBF8F), rgb(0xE08BC0), rgb(0x7A8CFF), rgb(0xD9672B),
              rgb(0xD6CF3A), rgb(0x9AA7B4)},
    .rank_outlines = {rgb(0x56B4E9), rgb(0xE69F00), rgb(0x2FBF8F), rgb(0xE08BC0), rgb(0x7A8CFF),
                      rgb(0xD9672B), rgb(0xD6CF3A), rgb(0x9AA7B4)},
};

// Communication is a shade darker here than in the sketches' table (#B36200): the word "Partial" in it must
// be readable on a card from the last row, 4.5 : 1.
constexpr Theme kLight{
    .name = ThemeName::Light,
    .window = rgb(0xF4F6F9),
    .panel = rgb(0xFFFFFF),
    .card = rgb(0xEEF2F6),
    .line = rgb(0xC5CFDA),
    .ghost = rgb(0xE3E8EE),
    .text = rgb(0x0B1420),
    .dim = rgb(0x43505F),
    .faint = rgb(0x7C8896),
    .forward = rgb(0x0B62C4),
    .backward = rgb(0x6A3FC8),
    .communication = rgb(0xA65B00),
    .agreement = rgb(0x00796B),
    .recording = rgb(0xC22A2A),
    .ranks = {rgb(0x56B4E9), rgb(0xE69F00), rgb(0x2FBF8F), rgb(0xE08BC0), rgb(0x7A8CFF), rgb(0xD9672B),
              rgb(0xD6CF3A), rgb(0x9AA7B4)},
    .rank_outlines = {rgb(0x1F7FB8), rgb(0xA87400), rgb(0x14805E), rgb(0xB04A88), rgb(0x4656D8),
                      rgb(0xAD4A16), rgb(0x857F00), rgb(0x5F6D7B)},
};

/// Linear light, 0 to 1, of each value of an sRGB channel. A table, because labels on heatmaps ask for it in
/// every frame.
std::array<double, 256> linear_channels() {
  std::array<double, 256> linear{};
  for (size_t value = 0; value < linear.size(); ++value) {
    const double channel = static_cast<double>(value) / 255.0;
    linear[value] = channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
  }
  return linear;
}

/// WCAG relative luminance, 0 to 1.
double luminance(ImU32 colour) {
  static const std::array<double, 256> linear = linear_channels();
  const auto channel = [&](int shift) { return linear[(colour >> shift) & 0xFF]; };
  return 0.2126 * channel(IM_COL32_R_SHIFT) + 0.7152 * channel(IM_COL32_G_SHIFT) +
         0.0722 * channel(IM_COL32_B_SHIFT);
}

}  // namespace

const Theme& theme(ThemeName name) {
  return name == ThemeName::Dark ? kDark : kLight;
}

ImU32 faded(ImU32 colour, float alpha) {
  const float opacity = static_cast<float>((colour >> IM_COL32_A_SHIFT) & 0xFF) * std::clamp(alpha, 0.f, 1.f);
  return (colour & ~IM_COL32_A_MASK) | (static_cast<ImU32>(std::lround(opacity)) << IM_COL32_A_SHIFT);
}

double contrast_ratio(ImU32 a, ImU32 b) {
  const auto [darker, lighter] = std::minmax({luminance(a), luminance(b)});
  return (lighter + 0.05) / (darker + 0.05);
}

}  // namespace shardlens::ui
