// A folder for temporary files that is removed with its program, in whatever way the program ends.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/io/signal_cleanup.h"

namespace shardlens {

/// Makes a new folder for temporary files. The destructor removes it with everything in it. If a signal ends
/// the program, the files in `files` are removed, and the folder if it is then empty. If a program was
/// killed, the next program of the same user that makes such a folder removes what is left. A lock on the
/// folder shows which folders are in use: a dead program holds no lock.
///
/// A name alone does not show whose a folder is: `shardlens-slides` may be a person's. So the files are in a
/// folder with the name kOwnMark in a folder with the chosen name, and nothing outside kOwnMark is ever
/// removed.
class TemporaryFolder {
 public:
  static constexpr const char* kOwnMark = ".shardlens-temporary";

  /// Makes it in the folder for temporary files (user_folder.h). Throws a request Error if no folder can be
  /// made.
  explicit TemporaryFolder(const std::vector<std::string>& files = {});
  /// Makes it beside `path`, so that what is in it can be moved to `path`: PATH.part-XXXXXX. Throws a run
  /// Error if no folder can be made.
  static TemporaryFolder beside(const std::string& path);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Removes the folders that killed programs left beside `path`, each after a call of `before_removal` with
  /// the path() that it had. If that throws, the folder stays. No other program may be making one there now.
  static void remove_left_beside(const std::string& path,
                                 const std::function<void(const std::string& left)>& before_removal);

  const std::string& path() const { return path_; }
  /// From now on the destructor leaves the folder: the next remove_left_beside() finds it.
  void leave();
  /// Returns the path of a file in it.
  std::string path_of(const std::string& file) const { return path_ + "/" + file; }

 private:
  TemporaryFolder(const std::string& pattern, const std::vector<std::string>& files, ErrorKind refusal,
                  const char* remedy);

  std::string outer_, path_;
  int lock_ = -1;
  bool left_ = false;
  std::list<SignalCleanup> cleanup_;
};

}  // namespace shardlens
