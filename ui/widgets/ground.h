// Opaque rectangles without a shader: a clear of that part of the framebuffer. A software renderer blends and
// samples a texture for every pixel of a filled rectangle, which for grounds and ghosts is most of a frame's
// time; a clear only writes.
#pragma once

#include <imgui.h>

namespace shardlens::ui {

/// Fills the part of [min, max] that lies in the list's clip rectangle, under whatever is added to `list`
/// later. The colour's opacity is ignored.
void fill_opaque(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour);

}  // namespace shardlens::ui
