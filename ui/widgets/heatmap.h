// Draws heatmaps as textures, never as rectangles, in one of two ways that give the same picture. Either a
// fragment shader makes the colours, and textures hold values (ui/platform/value_shader.h); another scale
// then uploads nothing. Or a picture is coloured here once, when its data, its scale or its size on the
// screen changes, and a software renderer only copies texels. In both ways textures are limited by their
// place on the screen, so a whole Stage is uploaded in a few milliseconds. Heatmaps that follow each other in
// a draw list need one draw call together. All ranks of a row use one scale, so equal colours are equal
// values.
#pragma once

#include <imgui.h>

#include <memory>
#include <vector>

#include "engine/record/sample.h"
#include "ui/theme/colour_scale.h"

namespace shardlens::ui {

/// How many cells of a picture one block on the screen shows. It shows the first of them, so that a small
/// heatmap keeps its contrast (a mean would fade it). But if a cell is NaN it shows that cell, because NaN
/// must always be visible.
struct Stride {
  int rows = 1;
  int cols = 1;
  bool operator==(const Stride&) const = default;
};

/// Returns the smallest stride (powers of two) with which a block is at least `block_pixels` large when a
/// picture of rows x cols is drawn in width x height pixels.
Stride stride_for(int rows, int cols, float width, float height, float block_pixels);

/// Returns the picture reduced by `stride`.
Picture thinned(const Picture& picture, Stride stride);

class Heatmaps {
 public:
  Heatmaps();   ///< belongs to the current Dear ImGui context
  ~Heatmaps();  ///< needs the GL context that made the textures
  Heatmaps(const Heatmaps&) = delete;
  Heatmaps& operator=(const Heatmaps&) = delete;

  /// Draws the part [uv0, uv1] of the picture, in fractions of it, into the rectangle. `key` is the owner of
  /// the picture's data (the sample's shared pointer), so a new run gets new textures. A picture drawn before
  /// costs only its rectangle. Call it within a frame with a GL context.
  void draw(ImDrawList* list, ImVec2 min, ImVec2 max, const std::shared_ptr<const void>& key,
            const Picture& picture, ColourScale scale, ImVec2 uv0 = {0, 0}, ImVec2 uv1 = {1, 1},
            float opacity = 1);

  /// Draws the exact elements rows x cols of a sample into the rectangle, in tiles. Only tiles inside the
  /// list's clip rectangle are made. The sample must have its exact values.
  void draw_exact(ImDrawList* list, ImVec2 min, ImVec2 max, const std::shared_ptr<const TensorSample>& sample,
                  ColourScale scale, Range rows, Range cols, float opacity = 1);

  /// Returns common_scale() of the samples. It is cached, so a panel may call this in every frame.
  ColourScale scale(const std::vector<std::shared_ptr<const TensorSample>>& samples_of_all_ranks);

  /// Frees pictures that were not drawn recently. Call it once per frame, before or after rendering.
  void end_frame();

  size_t pictures() const;  ///< number of cached pictures, for tests
  size_t pages() const;     ///< textures that hold them

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Returns the common scale of one tensor over all ranks; null samples are left out. The limit is three times
/// the pictures' rms, or their largest magnitude if that is smaller. With the largest value as the limit,
/// normal values would be pale.
ColourScale common_scale(const std::vector<std::shared_ptr<const TensorSample>>& samples_of_all_ranks);

}  // namespace shardlens::ui
