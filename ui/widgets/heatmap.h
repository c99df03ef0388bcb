// Heatmaps are textures: a picture is coloured once, when its data or its size on the screen changes, and
// never drawn as rectangles. No texel is made smaller than a couple of pixels, so a heatmap's texture is as
// small as its place on the screen: a whole Stage is coloured in a few milliseconds and a software renderer
// only copies texels, and no pixel is coloured anew in every frame. Drawn one after the other in a draw list,
// heatmaps cost one draw call together. One scale serves all ranks of a row, so equal colours are equal
// values.
#pragma once

#include <imgui.h>

#include <memory>
#include <vector>

#include "engine/record/sample.h"
#include "ui/theme/theme.h"

namespace shardlens::ui {

enum class ColourMap {
  Signed,     ///< blue - near-white - orange, centred on zero
  Magnitude,  ///< cividis, from zero up
};

/// How values become colours: the colour map spans [-limit, limit] (Signed) or [0, limit] (Magnitude); values
/// beyond take the colour of the end.
struct ColourScale {
  ColourMap map = ColourMap::Signed;
  double limit = 1;
  bool operator==(const ColourScale&) const = default;
};

/// How many cells of a picture one texel stands for. It shows the first of them, so that a heatmap keeps its
/// contrast when it is drawn small (a mean would fade it) - or the one that is not a number, which must never
/// be missed.
struct Stride {
  int rows = 1;
  int cols = 1;
  bool operator==(const Stride&) const = default;
};

/// The least stride (powers of two) that keeps a texel at `texel_pixels` or more when a picture of rows x
/// cols is drawn in width x height pixels.
Stride stride_for(int rows, int cols, float width, float height, float texel_pixels);

/// The picture seen through `stride`.
Picture thinned(const Picture& picture, Stride stride);

class Heatmaps {
 public:
  Heatmaps();
  ~Heatmaps();  ///< with the GL context that made the textures
  Heatmaps(const Heatmaps&) = delete;
  Heatmaps& operator=(const Heatmaps&) = delete;

  /// Draws the part [uv0, uv1] of the picture, in fractions of it, into the rectangle. `key` is the owner of
  /// the picture's data (the sample's shared pointer), so that a new run gets new textures; a picture drawn
  /// before costs nothing but its rectangle. Call within a frame with a GL context.
  void draw(ImDrawList* list, ImVec2 min, ImVec2 max, const std::shared_ptr<const void>& key,
            const Picture& picture, ColourScale scale, ImVec2 uv0 = {0, 0}, ImVec2 uv1 = {1, 1},
            float opacity = 1);

  /// Draws the exact elements rows x cols of a sample into the rectangle, in tiles; only tiles that meet the
  /// list's clip rectangle are made. The sample must have its exact values.
  void draw_exact(ImDrawList* list, ImVec2 min, ImVec2 max, const std::shared_ptr<const TensorSample>& sample,
                  ColourScale scale, Range rows, Range cols, float opacity = 1);

  /// common_scale() of the same samples, remembered: a panel may ask in every frame.
  ColourScale scale(const std::vector<std::shared_ptr<const TensorSample>>& samples_of_all_ranks);

  /// Frees pictures that no frame has drawn lately. Once per frame, before or after it is rendered.
  void end_frame();

  size_t pictures() const;  ///< alive; the tests watch it
  size_t pages() const;     ///< textures that hold them

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The colour of one value, as the heatmaps show it: for legends and cells. Not a number is magenta, which
/// neither map holds.
ImU32 colour_of(double value, ColourScale scale);

/// The common scale of one tensor over all ranks (null samples are left out): three times the pictures' rms,
/// or their largest magnitude where that is less. A scale to the very largest value would leave normal values
/// pale.
ColourScale common_scale(const std::vector<std::shared_ptr<const TensorSample>>& samples_of_all_ranks);

}  // namespace shardlens::ui
