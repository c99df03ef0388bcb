// A short training of a toy, really run and recorded into a file of its own, for pictures of a replay where
// nobody names a recording.
#pragma once

#include <filesystem>
#include <string>

namespace shardlens {

class ShortRecording {
 public:
  ShortRecording() = default;
  ~ShortRecording();  ///< and the file is gone
  ShortRecording(const ShortRecording&) = delete;
  ShortRecording& operator=(const ShortRecording&) = delete;

  /// Made when it is first asked for; takes seconds.
  std::string path();

 private:
  std::filesystem::path folder_;
};

}  // namespace shardlens
