// A file that is read. It is read by position: a read past the end is an error that names the file. The file
// is not memory-mapped: if it shrinks or its disk fails while it is read, the result is an error, not a
// signal. Every reader of a file that a person names opens it here. Files of a HeldFolder are opened as they
// were when it was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace shardlens {

class InputFile {
 public:
  /// What may be opened. A pipe or a terminal is read once, from its beginning to its end.
  enum class Takes { Files, FilesAndPipes };

  /// Opens a regular file, or also a pipe or a terminal. Throws a request Error that says why it cannot be
  /// opened. Waits only for the writer of a pipe.
  explicit InputFile(const std::string& path, Takes takes = Takes::Files);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  ///< in bytes, when it was opened; 0 for a pipe

  /// Reads `bytes` bytes at `offset` into `out`. Throws a run Error if they are not all there. May be called
  /// from any thread. Not for a pipe.
  void read(int64_t offset, void* out, size_t bytes) const;
  /// Reads the next bytes, 1 to `bytes`; the first call begins at the file's beginning. Returns how many; 0
  /// only at the end. Throws a run Error if the file cannot be read.
  size_t read_next(void* out, size_t bytes);
  std::string text() const;  ///< the whole file; throws a request Error if there is not enough memory for it

 private:
  size_t read_some(int64_t offset, void* out, size_t bytes) const;

  std::string path_;
  int file_ = -1;
  bool is_pipe_ = false;
  int64_t size_ = 0;
  int64_t next_ = 0;  // where read_next() goes on
};

}  // namespace shardlens
