// A file that is kept open while a run adds to it. In the hours that this takes somebody may delete it or
// move it away, and the system would let the run go on writing to what nobody can open any more.
#pragma once

#include <string>

#include "engine/io/output_file.h"

namespace shardlens {

class GrowingFile {
 public:
  /// Writes `text`, whole lines of which the first is the head, in place of the file, and opens it to add
  /// more. Throws what AtomicFile throws.
  GrowingFile(const std::string& path, const OutputKind& kind, const std::string& text);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  /// Appends whole lines; all of them or none. First looks whether the file is still there. If it was
  /// deleted, it is written again with everything that was in it; if it was moved away, a new one begins with
  /// the head; if another file of the kind stands there, that one grows. Returns a sentence that says so,
  /// otherwise an empty text. Throws a run Error with the system's reason if it cannot be written, or if a
  /// file of another kind stands there.
  std::string append(const std::string& lines);

 private:
  std::string find_again();
  void begin(const std::string& text);
  void open_again();

  std::string path_;
  OutputKind kind_;
  std::string head_;
  int file_ = -1;
};

}  // namespace shardlens
