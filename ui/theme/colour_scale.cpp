// The colour maps, and values placed in them.
#include "ui/theme/colour_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardlens::ui {
namespace {

struct Anchor {
  double r, g, b;
};

constexpr Anchor anchor(unsigned hex) {
  return {static_cast<double>(hex >> 16 & 255), static_cast<double>(hex >> 8 & 255),
          static_cast<double>(hex & 255)};
}

constexpr std::array<Anchor, 3> kSigned{anchor(0x2C7BD6), anchor(0xF3F2EF), anchor(0xD9731A)};
// Cividis (Nunez, Anderton and Renslow 2018), ten equidistant samples of it.
constexpr std::array<Anchor, 10> kCividis{
    anchor(0x00224E), anchor(0x123570), anchor(0x3B496C), anchor(0x575D6D), anchor(0x707173),
    anchor(0x8A8678), anchor(0xA59C74), anchor(0xC3B369), anchor(0xE1CC55), anchor(0xFEE838)};
constexpr int kShades = static_cast<int>(std::tuple_size_v<Shades>);

template <size_t N>
Shades between(const std::array<Anchor, N>& anchors) {
  Shades result{};
  for (int i = 0; i < kShades; ++i) {
    const double at = static_cast<double>(i) / (kShades - 1) * (N - 1);
    const size_t k = std::min(static_cast<size_t>(at), N - 2);
    const double t = at - static_cast<double>(k);
    const auto mixed = [&](double a, double b) { return static_cast<int>(std::lround(a + (b - a) * t)); };
    const Anchor &a = anchors[k], &b = anchors[k + 1];
    result[static_cast<size_t>(i)] = IM_COL32(mixed(a.r, b.r), mixed(a.g, b.g), mixed(a.b, b.b), 255);
  }
  return result;
}

}  // namespace

const Shades& shades(ColourMap map) {
  static const Shades of_signed = between(kSigned), of_magnitude = between(kCividis);
  return map == ColourMap::Signed ? of_signed : of_magnitude;
}

Colouring::Colouring(ColourScale scale) : shades_(&shades(scale.map)) {
  const bool is_signed = scale.map == ColourMap::Signed;
  // Without a limit only infinity is far from zero.
  const double limit = scale.limit > 0 ? scale.limit : std::numeric_limits<float>::max();
  factor_ = (kShades - 1) / (is_signed ? 2 * limit : limit);
  // Half a shade is added so that truncation rounds.
  offset_ = (is_signed ? 0.5 * (kShades - 1) : 0) + 0.5;
}

ImU32 Colouring::operator()(double value) const {
  if (std::isnan(value)) return kNotANumber;
  const double index = std::clamp(value * factor_ + offset_, 0.0, kShades - 0.5);
  return (*shades_)[static_cast<size_t>(index)];
}

ImU32 colour_of(double value, ColourScale scale) {
  return Colouring(scale)(value);
}

}  // namespace shardlens::ui
