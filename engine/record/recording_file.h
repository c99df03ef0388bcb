// A recording's file, as its readers open it. A file that is finished, or whose writer was killed, is an
// ordinary database. A file that is being written is read without a lock, between two changes of its writer,
// so that readers never slow down the run: see live_link.h. When the writer is gone, the file is treated as
// an ordinary database.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/io/file_kind.h"
#include "engine/io/output_file.h"
#include "engine/io/sqlite.h"
#include "engine/record/live_link.h"

namespace shardlens {

/// A run's recording may be all that is left of it.
inline constexpr OutputKind kRecordingFile{
    "a recording",
    [](std::string_view beginning, std::string_view) { return begins_as_recording(beginning); },
    Existing::Kept};

class RecordingFile {
 public:
  /// Throws what Database throws.
  explicit RecordingFile(const std::string& path);

  const std::string& path() const { return path_; }
  /// Throws the request Error of a file whose content is not that of a recording.
  [[noreturn]] void damaged(const std::string& what) const;

  /// Returns what `get(database)` returns. `get` is called again if the file changed meanwhile. So it must
  /// leave no trace of a failed call, and it should be short: a call must fit between two commits. Throws
  /// what `get` throws if the file did not change, and a run Error if the file changes all the time.
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

  /// The writer's state now. Gone: the file is an ordinary database.
  WriterState writer();
  /// The time of the last commit on this process's now_seconds() clock, if the file is being written.
  double committed_seconds() const { return watch_ ? watch_->committed_seconds() : 0; }
  /// Rises with every commit, if the file is being written.
  uint64_t generation() { return watch_ ? watch_->generation() : 0; }
  /// For writing; throws a run Error while another process writes.
  Database& own();

 private:
  Database& at_rest(double since_seconds);
  bool is_unchanged();
  void settle();
  void require_same_file();

  const std::string path_;
  std::unique_ptr<LiveWatch> watch_;  ///< null: nothing writes the file
  std::unique_ptr<Database> database_;
  uint64_t read_at_ = 0;  ///< the generation that the connection belongs to
  std::optional<std::pair<dev_t, ino_t>> file_;
};

}  // namespace shardlens
