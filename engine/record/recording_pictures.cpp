// Stores pictures: a new one as a row, or the row that an equal one has.
#include "engine/record/recording_pictures.h"

#include "engine/device/cells.h"
#include "engine/io/hash.h"

namespace shardlens {

RecordingWriter::Pictures::Pictures(Database& database, int64_t most_bytes)
    : insert_(database.prepare("INSERT INTO pictures VALUES(?, ?, ?, ?, ?)")), most_bytes_(most_bytes) {}

std::optional<int64_t> RecordingWriter::Pictures::store(const TensorSample& sample, RecordingTotals& added) {
  if (sample.picture.values.empty()) return std::nullopt;
  const std::vector<std::byte> not_exact;
  return store({sample.hash, sample.dtype, sample.matrix.rows, sample.matrix.cols, sample.picture.rows,
                sample.picture.cols},
               sample.picture, sample.stats.count <= kRecordedExactElements ? sample.exact : not_exact,
               added);
}

std::optional<int64_t> RecordingWriter::Pictures::store(const Picture& picture, RecordingTotals& added) {
  const uint64_t hash = hash64(picture.values.data(), picture.values.size() * sizeof(float));
  return store({hash, DType::Fp32, picture.rows, picture.cols, picture.rows, picture.cols}, picture, {},
               added);
}

std::optional<int64_t> RecordingWriter::Pictures::store(const Key& key, const Picture& picture,
                                                        const std::vector<std::byte>& exact,
                                                        RecordingTotals& added) {
  for (const auto* known : {&this_pass_, &last_pass_}) {
    const auto found = known->find(key);
    if (found == known->end()) continue;
    const int64_t row = found->second;
    this_pass_.emplace(key, row);
    return row;
  }
  const size_t cells = picture.values.size();
  const size_t bytes = exact.empty() ? (1 + cells) * sizeof(uint16_t) : exact.size();
  if (bytes_ + static_cast<int64_t>(bytes) > most_bytes_) {
    ++added.dropped_pictures;
    return std::nullopt;
  }
  bytes_ += static_cast<int64_t>(bytes);
  ++added.pictures;
  if (exact.empty()) {
    halves_.resize(1 + cells);
    halves_[0] = static_cast<uint16_t>(
        narrow_cells(picture.values.data(), static_cast<int64_t>(cells), halves_.data() + 1));
  }
  insert_.bind(1, next_)
      .bind(2, int64_t{picture.rows})
      .bind(3, int64_t{picture.cols})
      .bind(4, static_cast<int64_t>(exact.empty() ? PictureData::Halves : PictureData::Exact))
      .bind_blob(5, exact.empty() ? static_cast<const void*>(halves_.data()) : exact.data(), bytes)
      .run();
  this_pass_[key] = next_;
  return next_++;
}

void RecordingWriter::Pictures::next_pass() {
  last_pass_ = std::move(this_pass_);
  this_pass_.clear();
}

void RecordingWriter::Pictures::undo() {
  std::tie(next_, bytes_) = first_;
  this_pass_.clear();
  last_pass_.clear();
}

}  // namespace shardlens
