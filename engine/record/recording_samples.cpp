// Samples and parity in a recording: how they are written, and how they are read.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "engine/config/error.h"
#include "engine/io/sqlite.h"
#include "engine/record/recording.h"
#include "engine/record/recording_pictures.h"

namespace shardlens {
namespace {

// More than any run has; a table of pointers to them still fits into memory.
constexpr int64_t kMostCells = int64_t{1} << 24;

void bind_row(Statement& insert, int at, std::optional<int64_t> picture) {
  if (picture)
    insert.bind(at, *picture);
  else
    insert.bind_null(at);
}

// SQLite has no NaN: it stores NULL.
double number_or_nan(const Statement& row, int column) {
  return row.is_null(column) ? std::numeric_limits<double>::quiet_NaN() : row.number(column);
}

}  // namespace

std::optional<int64_t> RecordingWriter::Pictures::store(const Picture& picture,
                                                        const std::vector<std::byte>& exact,
                                                        RecordingTotals& added) {
  const bool is_exact = !exact.empty();
  const void* data = is_exact ? static_cast<const void*>(exact.data()) : picture.values.data();
  const size_t bytes = is_exact ? exact.size() : picture.values.size() * sizeof(float);
  const Key key{hash_bytes(data, bytes), picture.rows, picture.cols, is_exact};
  for (const auto* known : {&this_pass_, &last_pass_}) {
    const auto found = known->find(key);
    if (found == known->end()) continue;
    this_pass_[key] = found->second;
    return found->second;
  }
  if (bytes_ + static_cast<int64_t>(bytes) > most_bytes_) {
    ++added.dropped_pictures;
    return std::nullopt;
  }
  bytes_ += static_cast<int64_t>(bytes);
  ++added.pictures;
  Statement insert = database_.prepare("INSERT INTO pictures VALUES(?, ?, ?, ?, ?)");
  insert.bind(1, next_)
      .bind(2, int64_t{picture.rows})
      .bind(3, int64_t{picture.cols})
      .bind(4, int64_t{is_exact})
      .bind_blob(5, data, bytes)
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

void RecordingWriter::write_samples(const RecordedPass& pass, int64_t number, RecordingTotals& added) {
  const std::vector<std::byte> not_exact;
  Statement insert = database_->prepare("INSERT INTO samples VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (size_t rank = 0; rank < pass.samples.size(); ++rank)
    for (size_t tensor = 0; tensor < pass.samples[rank].size(); ++tensor) {
      const TensorSample* sample = pass.samples[rank][tensor].get();
      if (sample == nullptr) continue;
      ++added.samples;
      std::optional<int64_t> picture;
      if (!sample->picture.values.empty()) {
        const bool small = sample->stats.count <= kRecordedExactElements;
        picture = pictures_->store(sample->picture, small ? sample->exact : not_exact, added);
      }
      insert.bind(1, number)
          .bind(2, static_cast<int64_t>(rank))
          .bind(3, static_cast<int64_t>(tensor))
          .bind(4, sample->stats.min)
          .bind(5, sample->stats.max)
          .bind(6, sample->stats.mean)
          .bind(7, sample->stats.rms)
          .bind(8, sample->stats.nan_count)
          .bind(9, static_cast<int64_t>(sample->hash));
      bind_row(insert, 10, picture);
      insert.run();
    }
}

void RecordingWriter::write_parity(const RecordedPass& pass, int64_t number, RecordingTotals& added) {
  Statement insert = database_->prepare("INSERT INTO parity VALUES(?, ?, ?, ?, ?, ?, ?)");
  for (size_t tensor = 0; tensor < pass.parity.size(); ++tensor) {
    const TensorParity* parity = pass.parity[tensor].get();
    if (parity == nullptr || !parity->compared) continue;
    std::optional<int64_t> picture;
    if (!parity->difference.values.empty()) picture = pictures_->store(parity->difference, {}, added);
    insert.bind(1, number)
        .bind(2, static_cast<int64_t>(tensor))
        .bind(3, parity->relative_error)
        .bind(4, parity->max_abs_error)
        .bind(5, parity->bound)
        .bind(6, int64_t{parity->ranks_identical});
    bind_row(insert, 7, picture);
    insert.run();
  }
}

void Recording::check_cell(int64_t rank, int64_t tensor, const char* of) const {
  const auto tensors = static_cast<int64_t>(header_.program.tensors.size());
  if (rank < 0 || rank >= header_.program.ranks() || tensor < 0 || tensor >= tensors)
    damaged(fmt::format("its {} name tensor {} on rank {}", of, tensor, rank));
  if (tensors * header_.program.ranks() > kMostCells)
    damaged(fmt::format("it has {} tensors on {} ranks", tensors, header_.program.ranks()));
}

// A picture of at most the extents of what it shows, row-major.
Picture Recording::picture_of(const Statement& row, int column, MatrixShape matrix) const {
  const int64_t rows = row.integer(column), cols = row.integer(column + 1);
  const std::string_view data = row.blob(column + 3);
  if (rows < 1 || cols < 1 || rows > std::min(matrix.rows, kPictureExtent) ||
      cols > std::min(matrix.cols, kPictureExtent))
    damaged(fmt::format("a picture of {} x {} cells shows a matrix of {} x {}", rows, cols, matrix.rows,
                        matrix.cols));
  Picture picture{static_cast<int>(rows), static_cast<int>(cols), {}};
  if (row.integer(column + 2) != 0) return picture;
  if (static_cast<int64_t>(data.size()) != rows * cols * static_cast<int64_t>(sizeof(float)))
    damaged(fmt::format("a picture of {} x {} cells has {} bytes", rows, cols, data.size()));
  picture.values.resize(static_cast<size_t>(rows * cols));
  std::memcpy(picture.values.data(), data.data(), data.size());
  return picture;
}

SampleTable Recording::samples(int64_t index) const {
  const Program& program = header_.program;
  const int ranks = program.ranks();
  SampleTable table;
  // Ranks that hold the same share one sample, as they do in a run.
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::shared_ptr<const TensorSample>> shared;
  Statement rows = database_->prepare(
      "SELECT s.rank, s.tensor, s.min, s.max, s.mean, s.rms, s.not_finite, s.hash, s.picture,"
      " p.rows, p.cols, p.exact, p.data FROM samples s LEFT JOIN pictures p ON p.picture = s.picture"
      " WHERE s.pass = ?");
  rows.bind(1, index);
  while (rows.step()) {
    const int64_t rank = rows.integer(0), id = rows.integer(1);
    check_cell(rank, id, "samples");
    if (table.empty())
      table.assign(static_cast<size_t>(ranks),
                   std::vector<std::shared_ptr<const TensorSample>>(program.tensors.size()));
    const Tensor& tensor = program.tensor(static_cast<TensorId>(id));
    TensorSample sample;
    sample.shape = local_shape(tensor, ranks, static_cast<int>(rank));
    sample.matrix = local_matrix_shape(tensor, ranks, static_cast<int>(rank));
    sample.dtype = tensor.dtype;
    sample.stats.min = number_or_nan(rows, 2);
    sample.stats.max = number_or_nan(rows, 3);
    sample.stats.mean = number_or_nan(rows, 4);
    sample.stats.rms = number_or_nan(rows, 5);
    sample.stats.count = element_count(sample.shape);
    sample.stats.nan_count = rows.integer(6);
    sample.hash = static_cast<uint64_t>(rows.integer(7));
    auto& cell = table[static_cast<size_t>(rank)][static_cast<size_t>(id)];
    const bool pictured = !rows.is_null(8);
    std::shared_ptr<const TensorSample>* known =
        pictured ? &shared[{id, rows.integer(8), rows.integer(7)}] : nullptr;
    if (known != nullptr && *known && (*known)->shape == sample.shape) {
      cell = *known;
      continue;
    }
    if (pictured) {
      if (rows.is_null(9)) damaged(fmt::format("picture {} is missing", rows.integer(8)));
      sample.picture = picture_of(rows, 9, sample.matrix);
      if (rows.integer(11) != 0) {
        const std::string_view data = rows.blob(12);
        const int64_t bytes = sample.stats.count * element_bytes(sample.dtype);
        if (sample.stats.count > kRecordedExactElements || static_cast<int64_t>(data.size()) != bytes)
          damaged(fmt::format("tensor {} has {} bytes on rank {}, and its values take {}", tensor.name,
                              data.size(), rank, bytes));
        sample.exact.resize(data.size());
        std::memcpy(sample.exact.data(), data.data(), data.size());
        sample.picture = make_picture(tensor, ranks, static_cast<int>(rank), sample.exact.data(),
                                      sample.picture.rows, sample.picture.cols);
      }
    }
    cell = std::make_shared<const TensorSample>(std::move(sample));
    if (known != nullptr) *known = cell;
  }
  return table;
}

HashTable Recording::hashes(int64_t index) const {
  HashTable table;
  Statement rows = database_->prepare("SELECT rank, tensor, hash FROM samples WHERE pass = ?");
  rows.bind(1, index);
  while (rows.step()) {
    const int64_t rank = rows.integer(0), tensor = rows.integer(1);
    check_cell(rank, tensor, "samples");
    if (table.empty())
      table.assign(static_cast<size_t>(header_.program.ranks()),
                   std::vector<std::optional<uint64_t>>(header_.program.tensors.size()));
    table[static_cast<size_t>(rank)][static_cast<size_t>(tensor)] = static_cast<uint64_t>(rows.integer(2));
  }
  return table;
}

ParityTable Recording::parity(int64_t index) const {
  ParityTable table;
  Statement rows = database_->prepare(
      "SELECT q.tensor, q.relative_error, q.max_abs_error, q.bound, q.ranks_identical, q.picture,"
      " p.rows, p.cols, p.exact, p.data FROM parity q LEFT JOIN pictures p ON p.picture = q.picture"
      " WHERE q.pass = ?");
  rows.bind(1, index);
  while (rows.step()) {
    const int64_t id = rows.integer(0);
    check_cell(0, id, "errors");
    if (table.empty()) table.resize(header_.program.tensors.size());
    TensorParity parity;
    parity.compared = true;
    parity.relative_error = number_or_nan(rows, 1);
    parity.max_abs_error = number_or_nan(rows, 2);
    parity.bound = number_or_nan(rows, 3);
    parity.ranks_identical = rows.integer(4) != 0;
    if (!rows.is_null(5)) {
      if (rows.is_null(6) || rows.integer(8) != 0)
        damaged(fmt::format("picture {} of an error is none", rows.integer(5)));
      parity.difference =
          picture_of(rows, 6, matrix_shape(header_.program.tensor(static_cast<TensorId>(id))));
    }
    table[static_cast<size_t>(id)] = std::make_shared<const TensorParity>(std::move(parity));
  }
  return table;
}

}  // namespace shardlens
