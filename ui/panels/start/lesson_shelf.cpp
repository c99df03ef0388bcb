// The thread that reads the lessons.
#include "ui/panels/start/lesson_shelf.h"

#include <exception>
#include <filesystem>
#include <map>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/threads.h"
#include "engine/io/file_kind.h"
#include "engine/io/file_state.h"

namespace shardlens::ui {
namespace {

using FolderState = std::map<std::string, FileState>;  ///< by path

FolderState state_of(const std::string& folder) {
  FolderState state;
  std::error_code error;
  if (folder.empty()) return state;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string();
    if (ending_of(path) == ".md") state[path] = state_of_file(path);
  }
  return state;
}

}  // namespace

LessonShelf::LessonShelf(std::string folder) : folder_(std::move(folder)) {
  try {
    thread_ = start_thread("reading the lessons", [this] { main(); });
  } catch (const Error&) {  // then they are read once, here
    closed_ = true;
    main();
  }
}

LessonShelf::~LessonShelf() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    stop_.request_stop();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LessonShelf::main() {
  FolderState known;
  for (;;) {
    try {
      FolderState now = state_of(folder_);
      if (!lessons() || now != known) {
        auto read =
            std::make_shared<const std::vector<LessonEntry>>(list_lessons(folder_, stop_.get_token()));
        const std::lock_guard lock(mutex_);
        lessons_ = std::move(read);
        known = std::move(now);
      }
    } catch (const std::exception&) {
      // Such as too little memory, or it is being closed: what was read stays, and the next look tries again.
    }
    std::unique_lock lock(mutex_);
    looks_ = false;
    changed_.notify_all();
    changed_.wait(lock, [&] { return looks_ || closed_; });
    if (closed_) return;
  }
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
  changed_.notify_all();
}

void LessonShelf::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !looks_; });
}

}  // namespace shardlens::ui
