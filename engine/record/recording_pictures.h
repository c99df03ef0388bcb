// Stores the pictures of a recording that is being written: equal pictures are stored once. Private to the
// recording's files.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "engine/io/sqlite.h"
#include "engine/record/recording.h"

namespace shardlens {

/// The format of a picture's data in its row.
enum class PictureData : int {
  Floats = 0,  ///< its cells in fp32; only in files of version 2
  Exact = 1,   ///< the exact values of the tensor's piece
  Halves = 2,  ///< the exponent and the cells of narrow_cells(), in 16 bits each
};

class RecordingWriter::Pictures {
 public:
  Pictures(Database& database, int64_t most_bytes);

  /// Returns the row that holds the sample's picture, or its exact values if the file keeps those. Returns
  /// none if it has no picture, or if there is no room left, which is counted.
  std::optional<int64_t> store(const TensorSample& sample, RecordingTotals& added);
  /// The same for a picture that belongs to no sample.
  std::optional<int64_t> store(const Picture& picture, RecordingTotals& added);
  /// Forgets the pictures of passes before the last one. Otherwise a long run would fill the memory.
  void next_pass();

  /// begin(): a transaction begins. undo(): it has failed, and what it stored is not in the file.
  void begin() { first_ = {next_, bytes_}; }
  void undo();

 private:
  /// The key of a picture: the hash of its bytes, their type, and rows and cols of the matrix and of the
  /// picture.
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
