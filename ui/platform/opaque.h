// Large opaque rectangles are cleared, not drawn. A software renderer samples a texture and blends for every
// pixel of a filled rectangle, although neither changes anything when the rectangle is opaque and has one
// colour; for the grounds of windows, ghosts and blocks that was a third of a frame's time. A clear only
// writes.
#pragma once

#include <imgui.h>

#include <vector>

namespace shardlens {

// A rectangle to clear, in Dear ImGui's coordinates, already cut to its clip rectangle.
struct OpaqueRectangle {
  ImVec2 min, max;
  ImU32 colour = 0;
};

// Replaces the drawing of opaque, axis-aligned, one-coloured rectangles of `least_pixels` or more by clears
// at the same place in the order of drawing: the picture stays the same, pixel for pixel. Call between
// ImGui::Render() and the renderer. `ground` is the colour that the whole framebuffer has already: what
// repeats it over nothing is left out. `storage` holds what the clears need until they are done.
void clear_opaque_rectangles(ImDrawData& data, ImU32 ground, float least_pixels,
                             std::vector<OpaqueRectangle>& storage);

}  // namespace shardlens
