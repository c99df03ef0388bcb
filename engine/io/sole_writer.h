// One writer at a time: two runs that were given the same place do not mix their files there.
#pragma once

#include <optional>
#include <string>

#include "engine/io/fleeting.h"

namespace shardlens {

/// Holds the lock of `path` for as long as it lives: the file `path`.lock beside it, which goes with it. What
/// a killed process leaves of it holds nobody up, and goes with whoever takes it next. Where the file system
/// has no locks, this is none.
class SoleWriter {
 public:
  /// Throws a request Error when somebody else, in this process or another one, holds it.
  explicit SoleWriter(const std::string& path);
  /// The lock's file.
  static std::string lock_of(const std::string& path) { return path + ".lock"; }
  ~SoleWriter();
  SoleWriter(const SoleWriter&) = delete;
  SoleWriter& operator=(const SoleWriter&) = delete;

 private:
  std::string lock_path_;
  int file_ = -1;
  std::optional<Fleeting> fleeting_;  ///< while the lock is held
};

}  // namespace shardlens
