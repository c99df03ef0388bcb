// A short training of a small model, really run and recorded into a file. Used for pictures of a replay if no
// recording is given.
#pragma once

#include <optional>
#include <string>

#include "engine/io/temporary_folder.h"

namespace shardlens {

class ShortRecording {
 public:
  /// Returns the file's path. The first call makes the file, which takes seconds; the destructor deletes it.
  std::string path();

 private:
  std::optional<TemporaryFolder> folder_;
};

}  // namespace shardlens
