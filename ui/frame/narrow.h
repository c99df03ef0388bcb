// A narrow window, such as a phone's, shows one panel at a time: the open page, Setup, the Inspector or the
// Timeline. A row at its lower edge goes from one to another, and the card of a lesson stands above them.
#pragma once

#include "ui/context.h"

namespace shardlens::ui {

/// True if panels cannot stand beside each other in the main window.
bool is_narrow(const ViewState& view);

/// The height of the row of panels; 0 in a window that is not narrow.
float panel_row_height(const ViewState& view);

/// Draws the row: the open page, which is also a list of all pages, and the panels that the page needs.
void draw_panel_row(const Context& context);

}  // namespace shardlens::ui
