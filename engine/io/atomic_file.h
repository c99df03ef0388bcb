// A file that appears whole or not at all. It is written as a temporary file in the same folder, and commit()
// moves it to its place. If something goes wrong before that (a full disk, an exception, a kill), the old
// file stays as it was, and there is no half-written new one.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <utility>

#include "engine/io/output_file.h"

namespace shardlens {

class AtomicFile {
 public:
  /// Creates a temporary file in the folder of `path`. If `path` is a symbolic link, in the folder of its
  /// target. Throws a request Error if it cannot, with the reason, or if `path` is a folder, a device or a
  /// pipe, or a file that one of this kind may not replace (engine/io/output_file.h).
  AtomicFile(const std::string& path, const OutputKind& kind);
  ~AtomicFile();  ///< removes the temporary file unless commit() succeeded
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends; throws a run Error that names the file and the system's reason ("No space left on device").
  void write(const void* data, size_t bytes);

  /// The file's descriptor, for a program that writes in place of write().
  int descriptor() const { return file_; }

  /// Moves the file to its place. Throws a request Error if another file has come there that may not be
  /// replaced. `reaches`: Disk waits until all of it is on the disk, so that a power cut
  /// leaves the old file or the new one; System leaves that to the operating system, which takes no time.
  enum class Reaches { Disk, System };
  void commit(Reaches reaches = Reaches::Disk);

 private:
  [[noreturn]] void refuse() const;
  [[noreturn]] void fail(const char* what) const;
  void require_replaceable() const;

  std::string path_;
  std::string temporary_path_;
  OutputKind kind_;
  std::pair<dev_t, ino_t> replaced_{};  ///< the file that was there; zeros: none
  bool named_ = false;  ///< the temporary file has a name; if not, nothing of it remains after a kill
  int file_ = -1;
};

/// Writes a whole small file atomically.
void write_file_atomically(const std::string& path, const OutputKind& kind, const std::string& text,
                           AtomicFile::Reaches reaches = AtomicFile::Reaches::Disk);

/// Throws what AtomicFile would throw. For what takes time, take an OutputPlace instead.
void require_writable(const std::string& path, const OutputKind& kind);

/// The path at which a file of this name is written: what a link leads to, otherwise `path`.
std::string target_of(const std::string& path);

}  // namespace shardlens
