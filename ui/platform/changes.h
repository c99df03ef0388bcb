// Finds what has changed since the last frame, so that only that is drawn. Dear ImGui describes the whole
// picture in every frame, but while ranks compute most frames differ only in a row of the Stage or a number
// in the Bar, and a software renderer pays for every pixel. So the picture is kept, the drawing in each tile
// is reduced to a hash, and only tiles with another hash are drawn.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <vector>

#include "ui/platform/image.h"

namespace shardlens {

// Whole pixels: columns left to right - 1, rows top to bottom - 1, from the top left corner.
struct PixelArea {
  int left = 0, top = 0, right = 0, bottom = 0;
  bool operator==(const PixelArea&) const = default;

  bool is_empty() const { return right <= left || bottom <= top; }
  int64_t pixels() const { return int64_t{right - left} * (bottom - top); }
};

class Changes {
 public:
  // Returns the areas in which this picture (`size` pixels of `data` over `ground`) may differ from the last
  // one: a few disjoint areas, or the whole picture at first, after forget() and after a change of size. Call
  // it for every frame between ImGui::Render() and the renderer, before the renderer updates textures. Dear
  // ImGui and the heatmaps write only into unused parts of a texture, so a texture's name and a place in it
  // always show the same.
  const std::vector<PixelArea>& find(const ImDrawData& data, ImU32 ground, PixelSize size);

  // Call it when the kept picture is lost.
  void forget() { tiles_.clear(); }

 private:
  PixelSize size_;
  std::vector<uint64_t> tiles_, before_;
  std::vector<PixelArea> areas_;
};

// Removes everything from `data` (`size` pixels) that is not visible in `areas`.
void draw_only(ImDrawData& data, const std::vector<PixelArea>& areas, PixelSize size);

}  // namespace shardlens
