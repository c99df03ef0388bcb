// A short training of a toy, really run and recorded into a file of its own, for pictures of a replay where
// nobody names a recording.
#pragma once

#include <optional>
#include <string>

#include "engine/io/temporary_folder.h"

namespace shardlens {

class ShortRecording {
 public:
  /// Made when it is first asked for; takes seconds. Gone with this.
  std::string path();

 private:
  std::optional<TemporaryFolder> folder_;
};

}  // namespace shardlens
