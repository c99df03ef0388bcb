#include "ui/lesson/notes_window.h"

#include <imgui.h>

#include <exception>

#include "engine/io/file_problem.h"
#include "ui/frame/guarded.h"
#include "ui/lesson/lesson_view.h"
#include "ui/theme/theme.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr PixelSize kSize{960, 600};  ///< where there is no other screen

/// The page has type of its own size, whatever the class's card has.
class WholeCardScale {
 public:
  explicit WholeCardScale(LessonView& view) : view_(view), before_(view.card_scale) { view.card_scale = 1; }
  ~WholeCardScale() { view_.card_scale = before_; }
  WholeCardScale(const WholeCardScale&) = delete;
  WholeCardScale& operator=(const WholeCardScale&) = delete;

 private:
  LessonView& view_;
  float before_;
};

}  // namespace

void NotesWindow::follow(const Context& c, Platform& platform) {
  auto& view = c.view.of<LessonView>();
  if (window_ && window_->should_close()) view.notes_window = false;
  if (!view.notes_window || !is_class(c.view)) {
    window_.reset();
    return;
  }
  try {
    if (!window_) {
      window_ = platform.open_second_window("Shardlens: notes", kSize);
      styled_scale_ = 0;
    }
    const WholeCardScale scale(view);
    window_->draw([&](const Fonts& fonts) {
      if (c.view.theme != styled_theme_ || c.view.ui_scale() != styled_scale_)
        apply(c.theme, c.view.ui_scale());
      styled_theme_ = c.view.theme;
      styled_scale_ = c.view.ui_scale();
      draw_notes_page({c, c.snapshot, c.beside, c.view, c.theme, fonts, c.heatmaps, c.outbox});
    });
  } catch (const std::exception& error) {
    window_.reset();
    view.notes_window = false;
    view.notes = true;
    c.view.said = {as_sentence(message_of(error)) + ". The notes are in the card."};
  }
}

}  // namespace shardlens::ui
