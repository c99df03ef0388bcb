#include "ui/platform/own_gui.h"

#include <imgui.h>

#include "ui/platform/recovery.h"

namespace shardlens {

OwnGui::OwnGui(GlLoader load, KeptPicture::Bytes bytes) {
  const CurrentGui before;
  gui_.emplace(load);
  picture_.emplace(bytes);
}

OwnGui::~OwnGui() {
  const CurrentGui before;
  picture_.reset();
  gui_.reset();
}

void OwnGui::with_current(const std::function<void()>& setup) const {
  const CurrentGui here(*gui_);
  setup();
}

int64_t OwnGui::draw(PixelSize size, const std::function<void()>& begin,
                     const std::function<void(const ui::Fonts&)>& content) {
  void* const records = ImGui::GetIO().UserData;
  const CurrentGui here(*gui_);
  ImGui::GetIO().UserData = records;
  begin();
  gui_->begin_frame();
  try {
    content(gui_->fonts());
  } catch (...) {
    abandon_gui_frame();
    throw;
  }
  gui_->end_frame();
  if (size.width <= 0 || size.height <= 0) return 0;  // iconified
  if (size != picture_->size()) {
    picture_->allocate(size);
    gui_->forget_picture();
  }
  picture_->bind();
  return gui_->draw(size);
}

Image OwnGui::read_pixels() const {
  picture_->bind();
  return gui_->read_pixels(picture_->size());
}

}  // namespace shardlens
