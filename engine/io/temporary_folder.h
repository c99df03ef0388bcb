// Files that nobody keeps, in a folder that goes with its program, however that one ends.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "engine/io/fleeting.h"

namespace shardlens {

/// A new folder where temporary files are made. It goes with all that is in it when this does. Where a signal
/// ends the program, those of `files` that are in it go, and the folder if it is empty then. What is left of
/// a program that was killed goes when another one of the same user makes one: a lock on the folder,
/// which no dead program holds, tells whose is in use.
class TemporaryFolder {
 public:
  /// Throws a request Error where no folder can be made.
  explicit TemporaryFolder(const std::vector<std::string>& files = {});
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Of a file in it.
  std::string path_of(const std::string& file) const { return path_ + "/" + file; }

 private:
  std::string path_;
  int lock_ = -1;
  std::list<Fleeting> fleeting_;
};

}  // namespace shardlens
