// Which panels stand beside the open page. The page says what it needs (the table kTabs in view_state.h). In
// lecture mode the page has the whole window, and a key brings each panel. A narrow window shows one panel at
// a time (narrow.h), and a key brings it to the front.
#pragma once

#include <imgui.h>

#include "ui/view_state.h"

namespace shardlens::ui {

/// Returns the panels that the open page needs: the row of its tab in kTabs, without Inspector and Timeline
/// on a page of that tab where no step can be selected, and without Setup where it changes nothing.
SidePanels needs_of(const ViewState& view);

/// Returns the panels that stand beside the open page without a key: those that it needs, but none in lecture
/// mode and in a lesson, and only Setup in a window of `size` pixels that is too small for a page beside the
/// others.
SidePanels own_panels(const ViewState& view, ImVec2 size);

/// Returns the panels that are shown: the page's own, unless a key has hidden them, and those that a key has
/// brought. The second form is for the main window.
SidePanels side_panels(const ViewState& view, ImVec2 size);
SidePanels side_panels(const ViewState& view);

// Each hides a panel that is shown, and shows one that is not.
void show_or_hide_setup(ViewState& view);
void show_or_hide_timeline(ViewState& view);
/// Gives the Inspector half the window, or its normal width. Where it does not stand by itself, the first
/// call shows it, and the third one hides it again.
void widen_inspector(ViewState& view);
/// For keys that go to a control in Setup.
void show_setup(ViewState& view);

}  // namespace shardlens::ui
