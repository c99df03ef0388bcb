// A file that appears whole or not at all: it is written beside its place and moved there by commit().
// Whatever goes wrong before that (a full disk, an exception, a kill) leaves the old file as it was, and no
// half-written new one.
#pragma once

#include <cstddef>
#include <string>

namespace shardlens {

class AtomicFile {
 public:
  /// Creates a temporary file in the folder of `path`, or of what a link of that name leads to; throws a
  /// request Error that says why it cannot, and where a folder, a device or a pipe stands there.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();  ///< removes the temporary file unless commit() succeeded
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends; throws a run Error that names the file and the system's reason ("No space left on device").
  void write(const void* data, size_t bytes);

  /// Brings the bytes to the disk and the file to its place.
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::string temporary_path_;
  bool named_ = false;  ///< the temporary file stands in its folder; else a kill leaves nothing of it
  int file_ = -1;
};

/// Writes a whole small file atomically.
void write_file_atomically(const std::string& path, const std::string& text);

/// Throws what AtomicFile would: a file that cannot be written is better refused before minutes of computing.
void require_writable(const std::string& path);

}  // namespace shardlens
