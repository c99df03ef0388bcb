// Draws frames and survives those that fail.
#include "ui/window_loop.h"
#include "engine/io/file_problem.h"

#include <spdlog/spdlog.h>

#include <exception>
#include <string>
#include <utility>

#include "ui/lesson/lesson_view.h"
#include "ui/platform/other_characters.h"

namespace shardlens::ui {
namespace {

constexpr double kAfterFailureSeconds = 0.25;  // the next frame may fail too

}  // namespace

bool WindowLoop::next_frame() {
  if (told_to_end_ != 0 || studio_.ends() || platform_.is_gone()) return false;
  if (platform_.should_close()) {
    if (failed_ || studio_.may_close()) return false;  // a question could not be drawn either
    platform_.keep_open();
  }
  try {
    draw();
    failed_ = false;
  } catch (const std::exception& error) {
    failed_ = true;
    platform_.abandon_frame();
    studio_.recover(message_of(error));
    if (std::exchange(problem_, message_of(error)) != problem_)
      spdlog::warn("a frame was not drawn: {}", problem_);
    wait_seconds_ = kAfterFailureSeconds;
  }
  return true;
}

void WindowLoop::draw() {
  platform_.set_full_screen(ui::is_class(studio_.view()));
  platform_.begin_frame(wait_seconds_);
  studio_.view().screen_scale = platform_.dpi_scale();
  studio_.view().screens = platform_.screens();
  for (const std::string& file : platform_.take_dropped_files()) studio_.open_dropped(file);
  studio_.frame();
  platform_.render();
  studio_.write_picture(platform_);
  platform_.present();
  studio_.draw_notes_window(platform_);
  if (std::string words = platform_.take_said(); !words.empty()) studio_.view().said = std::move(words);
  if (take_drawn_right_to_left())
    studio_.view().said = {
        "The studio draws text from left to right only. Arabic, Hebrew and other text that is written from "
        "right "
        "to left appears in the wrong order here; it is stored and used as it is."};
  wait_seconds_ = studio_.idle_seconds();
}

}  // namespace shardlens::ui
