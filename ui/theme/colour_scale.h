// How a heatmap's values become colours. The scales are the same in every theme, because their colours are
// values.
#pragma once

#include <imgui.h>

#include <array>

#include "engine/base/words.h"

namespace shardlens::ui {

enum class ColourMap {
  Signed,     ///< blue - near-white - orange, centred on zero
  Magnitude,  ///< cividis, from zero up
};

/// What the Signed map says, for pages without a scale beside their pictures.
inline constexpr const char* kSignedInWords = "blue is below zero, orange above";

/// How values become colours: the colour map covers [-limit, limit] (Signed) or [0, limit] (Magnitude).
/// Values outside get the colour of the nearest end.
struct ColourScale {
  ColourMap map = ColourMap::Signed;
  double limit = 1;
  bool operator==(const ColourScale&) const = default;
};

/// Who makes the colours of heatmaps.
enum class ColoursBy {
  Shader,     ///< the renderer, for every pixel of every frame
  Processor,  ///< the window's thread, once for every texel
};
inline constexpr Word<ColoursBy> kColoursByWords[] = {{ColoursBy::Shader, "shader"},
                                                      {ColoursBy::Processor, "processor"}};

/// The colours of a map, from its lowest value to its highest.
using Shades = std::array<ImU32, 512>;
const Shades& shades(ColourMap map);

/// The colour of NaN: magenta, which neither map contains.
inline constexpr ImU32 kNotANumber = IM_COL32(255, 0, 220, 255);

/// A colour scale prepared for many values.
class Colouring {
 public:
  explicit Colouring(ColourScale scale);
  ImU32 operator()(double value) const;

 private:
  const Shades* shades_;
  double factor_, offset_;
};

/// Returns the colour of one value as in the heatmaps, for legends and cells.
ImU32 colour_of(double value, ColourScale scale);

}  // namespace shardlens::ui
