// A file that is read by position. A read past the end is an error that names the file. The file is not
// memory-mapped: if it shrinks while it is read, the result is an error, not a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace shardlens {

class InputFile {
 public:
  /// Opens a regular file; throws a request Error that says why it cannot be opened.
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  ///< in bytes, when it was opened

  /// Reads `bytes` bytes at `offset` into `out`. Throws a run Error if they are not all there. May be called
  /// from any thread.
  void read(int64_t offset, void* out, size_t bytes) const;
  std::string text() const;  ///< the whole file; throws a request Error if there is not enough memory for it

 private:
  std::string path_;
  int file_ = -1;
  int64_t size_ = 0;
};

}  // namespace shardlens
