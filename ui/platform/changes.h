// What of a frame is not as it was in the frame before, and drawing only that. Dear ImGui describes the whole
// picture anew every time, but beside computing ranks most frames repeat the last one, but for a row of the
// Stage or a number in the Bar, and a software renderer pays for every pixel. So the picture is kept, what is
// drawn in each tile of it is summed up in a number, and only tiles whose number is another one are drawn.
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
  // Where a picture of `size` pixels of `data` over `ground` may differ from the one that was asked about
  // last: disjoint areas, few of them, and the whole picture at first, after forget() and when the size is
  // another one. Call it for every frame, between ImGui::Render() and the renderer, with textures as they are
  // before the renderer updates them; Dear ImGui and the heatmaps write into a texture only where nothing was
  // yet, so a texture's name and place stand for what it shows.
  const std::vector<PixelArea>& find(const ImDrawData& data, ImU32 ground, PixelSize size);

  // The kept picture is lost.
  void forget() { tiles_.clear(); }

 private:
  PixelSize size_;
  std::vector<uint64_t> tiles_, before_;
  std::vector<PixelArea> areas_;
};

// Leaves of `data`, which is `size` pixels large, only what is seen in `areas`.
void draw_only(ImDrawData& data, const std::vector<PixelArea>& areas, PixelSize size);

}  // namespace shardlens
