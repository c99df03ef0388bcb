// The state of the start page: what is read for it by threads of its own.
#pragma once

#include <memory>

#include "ui/panels/start/glimpse.h"
#include "ui/panels/start/lesson_shelf.h"

namespace shardlens::ui {

struct StartView {
  std::shared_ptr<GalleryGlimpses> glimpses;  ///< null until the page was drawn
  std::shared_ptr<LessonShelf> shelf;         ///< the same
  double looked_seconds = 0;                  ///< ImGui's time of the last look at the folder of lessons
};

}  // namespace shardlens::ui
