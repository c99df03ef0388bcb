// The text in which Dear ImGui keeps a layout: windows, and the tree of dock nodes. Dear ImGui trusts it, and
// a tree that does not fit together ends the program. So the text is checked before Dear ImGui reads it.
#pragma once

#include <string>

namespace shardlens::ui {

/// Accepts what Dear ImGui writes: sections of windows and one of dock nodes; places and sizes that are
/// finite and not negative; nodes whose parent stands above them; two children for every split node and none
/// for another; one central node in a dock space; windows docked in a node that exists and is not split.
/// Throws a request Error for everything else, with the line and what is wrong there. An empty text is right:
/// it asks for the first layout.
void check_layout(const std::string& text);

}  // namespace shardlens::ui
