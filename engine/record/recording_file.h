// A recording's file as its readers hold it. One that is finished, or whose writer was killed, is a database
// like any other. One that is being written is read without a lock, between two changes of its writer, so
// that the run never knows of its readers: see live_link.h. When the writer is gone, the one becomes the
// other.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/config/clock.h"
#include "engine/config/error.h"
#include "engine/io/sqlite.h"
#include "engine/record/live_link.h"

namespace shardlens {

class RecordingFile {
 public:
  /// Throws what Database throws.
  explicit RecordingFile(const std::string& path);

  const std::string& path() const { return path_; }

  /// What `get(database)` returns. It is called again where the file changed meanwhile, so it must leave no
  /// trace of a call that came to nothing, and it should be short: a call must fit between two commits.
  /// Throws what `get` throws of a file at rest, and a run Error where the file is never at rest.
  template <typename Get>
  auto read(Get get) {
    for (const double since = now_seconds();;) {
      Database& database = at_rest(since);
      try {
        auto result = get(database);
        if (is_unchanged()) return result;
      } catch (const Error&) {
        if (is_unchanged()) throw;
      }
    }
  }

  /// As of now. Gone: it is a database like any other.
  WriterState writer();
  /// The moment of the last commit, by this process's now_seconds(); of one that is being written.
  double committed_seconds() const { return watch_ ? watch_->committed_seconds() : 0; }
  /// Counts the commits seen; of one that is being written.
  uint64_t generation() { return watch_ ? watch_->generation() : 0; }
  /// For writing; throws a run Error while another process writes.
  Database& own();

 private:
  Database& at_rest(double since_seconds);
  bool is_unchanged();
  void settle();
  void require_same_file();

  const std::string path_;
  std::unique_ptr<LiveWatch> watch_;  ///< null: nobody writes
  std::unique_ptr<Database> database_;
  uint64_t read_at_ = 0;  ///< the generation that the connection reads
  std::optional<std::pair<dev_t, ino_t>> file_;
};

}  // namespace shardlens
