// The studio's windows, around what is drawn in them: strips over the whole width, docked panels, the
// centre's tabs, and the edges that hidden panels leave.
#pragma once

#include "ui/context.h"

namespace shardlens::ui {

inline constexpr int kFirstFrames = 3;  ///< until new windows are docked

using DrawPanel = void (*)(const Context&);

/// A strip over the whole width of the window, `top` below its upper edge.
void draw_strip_window(const Context& context, const char* name, float top, float height, DrawPanel draw);

/// A docked panel. `is_result`: it shows results of a run, which may be out of date.
void draw_panel_window(const Context& context, const char* name, DrawPanel draw, bool is_result);

/// One of the centre's tabs. Above the panel stands which training step it shows, if one is frozen; below it
/// why there is no run. The Stage says the latter itself.
void draw_tab_window(const Context& context, const char* name, Tab tab, DrawPanel draw);

/// The lower edge of the window while the Timeline is hidden: its name. A click shows it.
void draw_folded_timeline(const Context& context, float height);
/// The left edge while Setup is hidden: its icon, for want of room. A click shows it.
void draw_folded_setup(const Context& context, float top, float bottom, float width);

}  // namespace shardlens::ui
