// The table of views.
#include "engine/lesson/views.h"

#include <set>

namespace shardlens {

std::span<const StudioView> lesson_views() {
  static const std::vector<StudioView> views = {
      {"start", {}},
      {"stage", {"rows", "product", "number", "derivation", "collective", "price"}},
      {"memory", {"wall", "layer", "machine"}},
      {"traffic", {"bytes", "times"}},
      {"scaling", {"weak", "strong", "heads", "break-even", "cluster"}},
      {"compare", {"splits", "tournament", "sweep", "recordings"}},
      {"train", {"choices", "curves", "text"}},
      {"program", {"steps", "algebra", "by-hand", "figures"}},
      {"break-it", {"faults", "errors", "loss"}},
  };
  return views;
}

std::vector<std::string> lesson_view_names() {
  std::vector<std::string> names;
  for (const StudioView& view : lesson_views()) names.emplace_back(view.name);
  return names;
}

bool opens_selection(const std::string& page) {
  static const std::set<std::string> pages = {"product", "number", "derivation", "collective", "price"};
  return pages.contains(page);
}

std::span<const std::string> lesson_panels() {
  static const std::vector<std::string> panels = {"setup", "inspector", "timeline"};
  return panels;
}

}  // namespace shardlens
