// A lock that allows one writer at a time, so that two runs with the same path do not mix their files there.
#pragma once

#include <optional>
#include <string>

#include "engine/io/signal_cleanup.h"

namespace shardlens {

/// Holds the lock of `path` for as long as it lives. The lock is the file `path`.lock next to it, which is
/// removed with the object. A lock file that a killed process left does not block the next writer, and is
/// removed with its object. A file of that name with contents is somebody's own: it serves as the lock and
/// stays. If the file system has no locks, this object does nothing.
class SoleWriter {
 public:
  /// Throws a request Error if this process or another one already holds the lock.
  explicit SoleWriter(const std::string& path);
  /// Returns the path of the lock file.
  static std::string lock_of(const std::string& path) { return path + ".lock"; }
  ~SoleWriter();
  SoleWriter(const SoleWriter&) = delete;
  SoleWriter& operator=(const SoleWriter&) = delete;

 private:
  std::string lock_path_;
  int file_ = -1;
  std::optional<SignalCleanup> cleanup_;  ///< while the lock is held
};

}  // namespace shardlens
