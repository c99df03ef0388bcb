// A recording that nobody keeps.
#pragma once

#include <string>

#include "engine/io/fleeting.h"

namespace shardlens {

/// Removes the recording at `path`, and SQLite's journal of it, at its end, also where a signal ends the
/// program. Whoever writes it closes it before.
class ScratchRecording {
 public:
  explicit ScratchRecording(const std::string& path);
  ~ScratchRecording();
  ScratchRecording(const ScratchRecording&) = delete;
  ScratchRecording& operator=(const ScratchRecording&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Fleeting file_, journal_;
};

}  // namespace shardlens
