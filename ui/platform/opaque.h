// Clears large opaque rectangles instead of drawing them. For every pixel of a filled rectangle, a software
// renderer samples a texture and blends, which changes nothing if the rectangle is opaque and has one colour.
// For the backgrounds of windows, ghosts and blocks this was a third of a frame's time. A clear only writes.
#pragma once

#include <imgui.h>

#include <vector>

namespace shardlens {

// A rectangle to clear, in Dear ImGui's coordinates, already cut to its clip rectangle.
struct OpaqueRectangle {
  ImVec2 min, max;
  ImU32 colour = 0;
};

// Replaces opaque, axis-aligned, one-coloured rectangles of `least_pixels` or more by clears at the same
// place in the drawing order. Every pixel of the picture stays the same. Call it between ImGui::Render() and
// the renderer. `ground` is the colour that the whole framebuffer already has: a rectangle of that colour on
// an unused area is left out. `storage` holds the data of the clears until they are done.
void clear_opaque_rectangles(ImDrawData& data, ImU32 ground, float least_pixels,
                             std::vector<OpaqueRectangle>& storage);

}  // namespace shardlens
