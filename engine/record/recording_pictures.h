// The pictures of a recording that is written: equal ones are stored once. Private to the recording's files.
#pragma once

#include <map>
#include <optional>
#include <tuple>

#include "engine/io/sqlite.h"
#include "engine/record/recording.h"

namespace shardlens {

class RecordingWriter::Pictures {
 public:
  Pictures(Database& database, int64_t most_bytes) : database_(database), most_bytes_(most_bytes) {}

  /// The row that holds the picture, or the exact bytes where `exact` is not empty; none, and counted, when
  /// there is no room left.
  std::optional<int64_t> store(const Picture& picture, const std::vector<std::byte>& exact,
                               RecordingTotals& added);
  /// Of passes before the last one nothing is looked for: a run would fill the memory with what is known.
  void next_pass();

  /// A transaction begins, or has failed: what it stored is not there.
  void begin() { first_ = {next_, bytes_}; }
  void undo();

 private:
  using Key = std::tuple<uint64_t, int, int, bool>;  ///< hash of the bytes, rows, cols, exact

  Database& database_;
  int64_t most_bytes_;
  int64_t next_ = 0, bytes_ = 0;
  std::pair<int64_t, int64_t> first_{0, 0};
  std::map<Key, int64_t> this_pass_, last_pass_;
};

}  // namespace shardlens
