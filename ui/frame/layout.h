// The places of the panels: a dock space under the Bar. It starts with the first layout and then stays as the
// person leaves it. While nothing was moved, the side panels follow the window's size and the scale. In a
// narrow window all panels are in one place, and a wider one goes back to what was there before.
#pragma once

#include <imgui.h>

#include <string>

#include "ui/context.h"
#include "ui/frame/side_panels.h"

struct ImGuiTabBar;

namespace shardlens::ui {

struct PanelSizes {
  float setup = 288;      ///< width
  float inspector = 356;  ///< width
  float timeline = 216;   ///< height
  bool operator==(const PanelSizes&) const = default;
};

/// Returns the sizes of the side panels in a window of `size` pixels at `scale`: their full measure if there
/// is room, and never so much that the centre becomes too small. Strips below the Bar take room only from the
/// centre.
PanelSizes panel_sizes(ImVec2 size, float scale, bool wide_inspector);

/// A panel is at least so wide and high, at scale 1, after a layout was restored. Less is no layout that a
/// person chose: it is what a very small window leaves of one.
inline constexpr float kLeastPanel = 96;

/// The padding of a panel's tab. Dear ImGui measures a docked window's content from it, so the dock space and
/// every panel's Begin() must agree on it.
ImVec2 tab_padding(const Context& context);

/// Not called Layout, because shardlens::Layout is the layout of a tensor.
class DockTree {
 public:
  /// Goes back to the first layout.
  void reset() { wanted_ = true; }
  /// Takes over a layout that Dear ImGui wrote. If it leaves no panel in the dock space, the first layout is
  /// used. Only before the first frame.
  void restore(const std::string& ini);
  /// Returns Dear ImGui's text of the present layout; empty while nothing was moved. While the window is too
  /// small for the panels: of the layout before that.
  std::string remembered() const;

  /// Opens the dock space, `top` pixels below the window's upper edge and `bottom` above its lower one. Once
  /// per frame, before the panels.
  void begin(const Context& context, float top, float bottom, float left);
  /// Underlines the selected tabs and writes `hint` at the right of the centre's tab strip, in the text's
  /// colour if it `is_news`. Returns false if there is no room for it. After the panels.
  bool end(const Context& context, const std::string& hint, bool is_news);

 private:
  void build(ImVec2 size, const PanelSizes& sizes);
  void build_narrow(ImVec2 size);
  void choose_form(const Context& context);
  void check_restored(const Context& context);
  void follow(const PanelSizes& sizes, const SidePanels& shown);
  void show_open_tab(ImGuiTabBar& bar, float margin);

  ImGuiID root_ = 0;
  bool wanted_ = true;       ///< build the first layout in the next frame
  int restored_frames_ = 0;  ///< frames until a restored layout is checked
  bool untouched_ = true;    ///< nothing was moved
  bool squeezed_ = false;    ///< the window is too small for the panels, or narrow
  bool narrow_ = false;      ///< all panels are in one place
  std::string before_;       ///< the layout before that
  PanelSizes assigned_;
  SidePanels shown_;
  ImGuiID open_tab_ = 0;  ///< of the centre, in the last frame
  float tabs_width_ = 0;
  int settling_frames_ = 0;  ///< frames that still set sizes, because the tree follows a frame or two later
};

}  // namespace shardlens::ui
