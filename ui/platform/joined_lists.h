// Joins Dear ImGui's draw lists into one, with only those vertices that commands use. The renderer uploads
// vertices and indices list by list, and in a browser an upload costs milliseconds, however small it is
// (TRIED.md).
#pragma once

#include <imgui.h>

namespace shardlens {

/// Afterwards `data` has one list, `joined`, which draws the same. `joined` keeps its room for the next
/// frame, and must live until `data` is drawn.
void join_lists(ImDrawData& data, ImDrawList& joined);

}  // namespace shardlens
