// A layout as Dear ImGui saves it, and a start with one: what tests and the fuzzer damage, and then show.
#pragma once

#include <string>

namespace shardlens::ui {

/// Three panels and the tabs, as they are saved after a person has moved a border.
std::string saved_layout();

/// A start of Dear ImGui by itself: it reads the text before its first frame, and then shows the panels as
/// the studio does. A text that it does not bear ends the process.
void draw_with_layout(const std::string& layout);

}  // namespace shardlens::ui
