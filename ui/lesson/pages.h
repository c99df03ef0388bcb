// The views and pages that a scene can name (engine/lesson/views.h), and what each is in the ViewState. Read
// in both directions: to show a scene, and to save one.
#pragma once

#include <string>

#include "ui/view_state.h"

namespace shardlens::ui {

/// Brings a view and its page to the front; an empty page is the view's first one. The pages of the Stage
/// other than its rows need a selected step: scene_setter.h opens them.
void show_page(ViewState& view, const std::string& tab, const std::string& page);

/// The word of the page that the open tab shows; empty if the tab has one page.
std::string shown_page(const ViewState& view);

}  // namespace shardlens::ui
