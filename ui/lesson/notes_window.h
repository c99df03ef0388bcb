// The second window in front of a class: the notes of the scene, what comes next, and the time. Only the
// person sees it who teaches. Keys pressed in it go on in the lesson as in the first window.
#pragma once

#include <memory>
#include <string>

#include "ui/context.h"
#include "ui/platform/platform.h"

namespace shardlens::ui {

class NotesWindow {
 public:
  /// Opens, draws or closes the window as the view wants it. Between two frames of the first window. If it
  /// cannot be opened, says why and shows the notes in the card.
  void follow(const Context& context, Platform& platform);

 private:
  std::unique_ptr<SecondWindow> window_;
  ThemeName styled_theme_ = ThemeName::Dark;
  float styled_scale_ = 0;  ///< 0: no style yet
};

/// Draws the page into the current Dear ImGui context, all over its window.
void draw_notes_page(const Context& context);

}  // namespace shardlens::ui
