// The lessons that can be opened: the built-in ones and those in the user's folder. A worker of its own reads
// them, because the user's files are planned to check their names.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/base/worker.h"
#include "engine/io/file_state.h"
#include "engine/lesson/built_in.h"

namespace shardlens::ui {

class LessonShelf {
 public:
  /// Begins to read.
  explicit LessonShelf(std::string folder = lessons_folder());
  ~LessonShelf();
  LessonShelf(const LessonShelf&) = delete;
  LessonShelf& operator=(const LessonShelf&) = delete;

  using List = std::shared_ptr<const std::vector<LessonEntry>>;
  List lessons() const;  ///< null: not read yet
  /// Reads them again if a file in the folder has changed. Returns at once.
  void look();
  /// Blocks until the last look has ended; for pictures without a window and for tests.
  void wait() const;

 private:
  using FolderState = std::map<std::string, FileState>;  ///< by path

  static FolderState state_of(const std::string& folder);
  NextTurn turn();

  const std::string folder_;
  mutable std::mutex mutex_;
  mutable WaitForWorkers changed_;
  List lessons_;
  bool looks_ = true, closed_ = false;
  std::stop_source stop_;  ///< of reading; requested when it is closed
  FolderState known_;      ///< what was read; only the worker's
  BackgroundWorker worker_;
};

}  // namespace shardlens::ui
