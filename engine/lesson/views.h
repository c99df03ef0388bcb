// The views and pages of the studio that a scene can name. The studio's own names are in ui/view_state.h and
// beside its panels; a test there compares them with this table.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace shardlens {

struct StudioView {
  const char* name;
  std::vector<std::string> pages;  ///< the first is shown if a scene names none
};

std::span<const StudioView> lesson_views();
std::vector<std::string> lesson_view_names();

/// True for the pages of the Stage that open the selected step.
bool opens_selection(const std::string& page);

/// The side panels that a scene can ask for.
std::span<const std::string> lesson_panels();

}  // namespace shardlens
