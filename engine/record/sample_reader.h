// Reads the samples and the parity of a recording's passes. Private to the recording's files.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "engine/record/recording.h"

namespace shardlens {

class Statement;

/// The methods are those of Recording, and throw the same.
class SampleReader {
 public:
  /// `program`: the recording's. Both must outlive this.
  SampleReader(RecordingFile& file, const Program& program) : file_(file), program_(program) {}

  SampleTable samples(int64_t index) const;
  LatestSamples latest_samples(int64_t index, const std::vector<bool>& wanted, const LatestSamples& known,
                               int64_t most_bytes) const;
  HashTable hashes(int64_t index) const;
  ParityTable parity(int64_t index, const std::vector<bool>& pictured) const;

 private:
  /// By tensor, picture and hash. Ranks that hold the same share one sample, as in a run.
  using SharedSamples = std::map<std::tuple<int64_t, int64_t, int64_t>, std::shared_ptr<const TensorSample>>;

  SampleTable read_samples(Database& database, int64_t index) const;
  HashTable read_hashes(Database& database, int64_t index) const;
  ParityTable read_parity(Database& database, int64_t index, const std::vector<bool>& pictured) const;
  void find_samples(Database& database, int64_t from, int64_t to, const std::vector<bool>& wanted,
                    std::vector<std::vector<int64_t>>& passes) const;
  void check_cell(int64_t rank, int64_t tensor, const char* of) const;
  Picture picture_of(const Statement& row, int column, MatrixShape matrix) const;
  std::shared_ptr<const TensorSample> read_sample(const Statement& rows, SharedSamples& shared) const;

  RecordingFile& file_;
  const Program& program_;
};

}  // namespace shardlens
