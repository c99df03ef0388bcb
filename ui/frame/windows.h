// The studio's windows, which hold the panels' contents: strips over the whole width, docked panels, the
// centre's tabs, and the edges that hidden panels leave.
#pragma once

#include <string_view>

#include "ui/context.h"

struct ImGuiWindow;

namespace shardlens::ui {

inline constexpr int kFirstFrames = 3;  ///< frames until new windows are docked

using DrawPanel = void (*)(const Context&);

/// A strip over the whole width of the window, `top` below its upper edge.
void draw_strip_window(const Context& context, const char* name, float top, float height, DrawPanel draw);

/// The row of panels at the lower edge of a narrow window.
void draw_panel_row_window(const Context& context);

/// A docked panel; in a narrow window in front of all others. `is_result`: it shows results of a run, which
/// may be out of date.
void draw_panel_window(const Context& context, const char* name, DrawPanel draw, bool is_result);

/// One of the centre's tabs. A frozen training step is named above the page, and so is the reason why the
/// wanted settings do not run.
void draw_tab_window(const Context& context, const char* name, Tab tab, DrawPanel draw);

/// True for the windows inside of the one with this title.
bool is_within(const ImGuiWindow& window, std::string_view title);

/// The window's lower edge while the Timeline is hidden, with its name. A click shows the Timeline.
void draw_folded_timeline(const Context& context, float height);
/// The left edge while Setup is hidden, with an icon because there is no room for a name. A click shows
/// Setup.
void draw_folded_setup(const Context& context, float top, float bottom, float width);

}  // namespace shardlens::ui
