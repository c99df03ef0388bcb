// A folder for temporary files that is removed with its program, in whatever way the program ends.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "engine/io/fleeting.h"

namespace shardlens {

/// Makes a new folder for temporary files. The destructor removes it with everything in it. If a signal ends
/// the program, the files in `files` are removed, and the folder if it is then empty. If a program was
/// killed, the next program of the same user that makes such a folder removes what is left. A lock on the
/// folder shows which folders are in use: a dead program holds no lock.
class TemporaryFolder {
 public:
  /// Throws a request Error if no folder can be made.
  explicit TemporaryFolder(const std::vector<std::string>& files = {});
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Returns the path of a file in it.
  std::string path_of(const std::string& file) const { return path_ + "/" + file; }

 private:
  std::string path_;
  int lock_ = -1;
  std::list<Fleeting> fleeting_;
};

}  // namespace shardlens
