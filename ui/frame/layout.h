// Where the panels stand: a dock space under the Bar, first laid out as in the sketches and from then on as
// the person left it. As long as nobody has moved anything, the side panels follow the window's size and the
// scale.
#pragma once

#include <imgui.h>

#include <string>

#include "ui/context.h"

struct ImGuiTabBar;

namespace shardlens::ui {

struct PanelSizes {
  float setup = 288;      ///< width
  float inspector = 356;  ///< width
  float timeline = 216;   ///< height
  bool operator==(const PanelSizes&) const = default;
};

/// What the side panels take of a window of `size` pixels at `scale`: their full measure where there is room,
/// and never so much that the centre starves. Strips below the Bar take of the centre alone.
PanelSizes panel_sizes(ImVec2 size, float scale, bool wide_inspector);

/// Which panels stand beside the centre.
struct SidePanels {
  bool setup = true;
  bool inspector = true;
  bool timeline = true;
  bool operator==(const SidePanels&) const = default;
};

/// What a person wants to see of them, in a window of `size` pixels. In a small one (a lecture's, at
/// 1280x720) every page but the Stage has the room of the Inspector and the Timeline as well, which would
/// leave it no line of its own.
SidePanels side_panels(const ViewState& view, ImVec2 size);

/// Hides the Timeline, or shows it where it is not. Beside a page that had its room the Inspector comes and
/// goes with it.
void show_or_hide_timeline(ViewState& view);
/// Half the window for the Inspector, or its own place again; one that is not there is shown.
void widen_inspector(ViewState& view);

/// The padding of a panel's tab. Dear ImGui measures a docked window's content from it, so the dock space and
/// every panel's Begin() must agree on it.
ImVec2 tab_padding(const Context& context);

/// Not named for its layout: shardlens::Layout is a tensor's, and a header here may mean that one.
class DockTree {
 public:
  /// Forgets what was moved: the first layout again.
  void reset() { wanted_ = true; }
  /// Takes over a layout that Dear ImGui wrote; one that leaves no panel in its place gives way to the first
  /// layout. Only before the first frame.
  void restore(const std::string& ini);
  /// Dear ImGui's text of the present layout; empty while nobody has moved anything.
  std::string remembered() const;

  /// Opens the dock space, `top` pixels below the window's upper edge and `bottom` above its lower one. Once
  /// per frame, before the panels.
  void begin(const Context& context, float top, float bottom, float left);
  /// Underlines the selected tabs and writes `hint` at the right of the centre's tab strip. After the panels.
  void end(const Context& context, const std::string& hint);

 private:
  void build(ImVec2 size, const PanelSizes& sizes);
  void follow(const PanelSizes& sizes, const SidePanels& shown);
  void show_open_tab(ImGuiTabBar& bar, float margin);

  ImGuiID root_ = 0;
  bool wanted_ = true;       ///< build the first layout in the next frame
  int restored_frames_ = 0;  ///< frames until a restored layout is judged
  bool untouched_ = true;    ///< nobody has moved anything
  PanelSizes assigned_;
  SidePanels shown_;
  ImGuiID open_tab_ = 0;  ///< of the centre, in the last frame
  float tabs_width_ = 0;
  int settling_frames_ = 0;  ///< frames that still assign: the tree takes a frame or two to follow
};

}  // namespace shardlens::ui
