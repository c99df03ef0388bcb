// The worker that reads the lessons.
#include "ui/panels/start/lesson_shelf.h"

#include <exception>
#include <filesystem>
#include <utility>

#include "engine/base/error.h"
#include "engine/io/file_kind.h"

namespace shardlens::ui {

LessonShelf::FolderState LessonShelf::state_of(const std::string& folder) {
  FolderState state;
  std::error_code error;
  if (folder.empty()) return state;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string();
    if (ending_of(path) == ".md") state[path] = state_of_file(path);
  }
  return state;
}

LessonShelf::LessonShelf(std::string folder) : folder_(std::move(folder)) {
  try {
    worker_.start("reading the lessons", [this] { return turn(); });
  } catch (const Error&) {  // then they are read once, here
    turn();
    closed_ = true;
  }
}

LessonShelf::~LessonShelf() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    stop_.request_stop();
  }
  worker_.wake();
  if (worker_.is_started()) worker_.join();
}

NextTurn LessonShelf::turn() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return kEnds;
    if (!looks_) return kWhenWoken;
  }
  try {
    FolderState now = state_of(folder_);
    if (!lessons() || now != known_) {
      auto read = std::make_shared<const std::vector<LessonEntry>>(list_lessons(folder_, stop_.get_token()));
      const std::lock_guard lock(mutex_);
      lessons_ = std::move(read);
      known_ = std::move(now);
    }
  } catch (const std::exception&) {
    // Such as too little memory, or it is being closed: what was read stays, and the next look tries again.
  }
  {
    const std::lock_guard lock(mutex_);
    looks_ = false;
  }
  changed_.notify_all();
  return kWhenWoken;
}

LessonShelf::List LessonShelf::lessons() const {
  const std::lock_guard lock(mutex_);
  return lessons_;
}

void LessonShelf::look() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    looks_ = true;
  }
  worker_.wake();
}

void LessonShelf::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !looks_; });
}

}  // namespace shardlens::ui
