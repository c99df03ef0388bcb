// Heatmaps are textures: a Picture's values are uploaded once when they change and coloured by a shader, never drawn
// as rectangles. One colour scale serves all ranks of a row, so equal colours are equal values.
#pragma once

#include <imgui.h>

#include <memory>

#include "engine/record/sample.h"
#include "ui/theme/theme.h"

namespace shardlens::ui {

enum class ColourMap {
  Signed,     ///< blue - near-white - orange, centred on zero
  Magnitude,  ///< cividis, from zero up
};

/// How values become colours: the colour map spans [-limit, limit] (Signed) or [0, limit] (Magnitude).
struct ColourScale {
  ColourMap map = ColourMap::Signed;
  double limit = 1;
};

class Heatmaps {
 public:
  Heatmaps();
  ~Heatmaps();

  /// A texture of `picture` coloured by `scale`, made on first use and kept until unused for a while. `key` is the
  /// identity of the picture's data (the sample's shared pointer), so that a new run gets new textures. Call within
  /// a frame with a GL context; costs nothing when it is already there.
  ImTextureID texture(std::shared_ptr<const void> key, const Picture& picture, ColourScale scale);

  /// Draws cell range [col0, col1) x [row0, row1) in fractions of the picture into the rectangle.
  void draw(ImDrawList* list, ImVec2 min, ImVec2 max, std::shared_ptr<const void> key, const Picture& picture,
            ColourScale scale, ImVec2 uv0 = {0, 0}, ImVec2 uv1 = {1, 1}, float opacity = 1);

  /// Frees textures that no frame has used lately. Once per frame.
  void end_frame();

  size_t textures() const;  ///< alive; the tests watch it

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The colour of one value, as the shader computes it: for legends and cells.
ImU32 colour_of(double value, ColourScale scale);

/// The common scale of one tensor over all ranks: from the pictures' largest magnitude.
ColourScale common_scale(const std::vector<std::shared_ptr<const TensorSample>>& samples_of_all_ranks);

}  // namespace shardlens::ui
