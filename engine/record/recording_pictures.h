// The pictures of a recording that is written: equal ones are stored once. Private to the recording's files.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "engine/io/sqlite.h"
#include "engine/record/recording.h"

namespace shardlens {

/// How the data of a picture's row are to be read.
enum class PictureData : int {
  Floats = 0,  ///< its cells in fp32; in files of version 2
  Exact = 1,   ///< the values of the tensor's piece as they are
  Halves = 2,  ///< the exponent and the cells of narrow_cells(), in 16 bits each
};

class RecordingWriter::Pictures {
 public:
  Pictures(Database& database, int64_t most_bytes);

  /// The row that holds the sample's picture, or its exact values where the file keeps those; none where it
  /// has no picture or, counted, when there is no room left.
  std::optional<int64_t> store(const TensorSample& sample, RecordingTotals& added);
  /// The row that holds a picture of no sample, likewise.
  std::optional<int64_t> store(const Picture& picture, RecordingTotals& added);
  /// Of passes before the last one nothing is looked for: a run would fill the memory with what is known.
  void next_pass();

  /// A transaction begins, or has failed: what it stored is not there.
  void begin() { first_ = {next_, bytes_}; }
  void undo();

 private:
  /// By what it is of: the hash of its bytes, their type, and rows and cols of the matrix and of the picture.
  using Key = std::tuple<uint64_t, DType, int64_t, int64_t, int, int>;

  std::optional<int64_t> store(const Key& key, const Picture& picture, const std::vector<std::byte>& exact,
                               RecordingTotals& added);

  Statement insert_;
  int64_t most_bytes_;
  int64_t next_ = 0, bytes_ = 0;
  std::pair<int64_t, int64_t> first_{0, 0};
  std::map<Key, int64_t> this_pass_, last_pass_;
  std::vector<uint16_t> halves_;
};

}  // namespace shardlens
