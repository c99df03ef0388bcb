// Writes and reads the samples and parity of a recording.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "engine/base/error.h"
#include "engine/device/cells.h"
#include "engine/io/hash.h"
#include "engine/io/sqlite.h"
#include "engine/record/recording.h"
#include "engine/record/recording_file.h"
#include "engine/record/recording_pictures.h"

namespace shardlens {
namespace {

// More cells than any run has; a table of pointers to them still fits into memory.
constexpr int64_t kMostCells = int64_t{1} << 24;

constexpr int64_t kPassesLookedBack = 255;  // passes searched for the newest sample of a tensor
constexpr size_t kTensorsAtOnce = 32;       // tensors whose samples are read at once
constexpr int kCoarseExtent = 32;           // rows and columns of a picture for which there is little room

int64_t held_bytes(const TensorSample& sample) {
  return static_cast<int64_t>(sample.picture.values.size() * sizeof(float) + sample.exact.size());
}

// The sample without values, and with its picture in fewer cells, which are the means of blocks.
std::shared_ptr<const TensorSample> coarse(const TensorSample& sample) {
  TensorSample small = sample;
  small.exact.clear();
  const Picture& full = sample.picture;
  Picture& picture = small.picture;
  picture.rows = std::min(full.rows, kCoarseExtent);
  picture.cols = std::min(full.cols, kCoarseExtent);
  picture.values.assign(static_cast<size_t>(picture.rows * picture.cols), 0.0f);
  std::vector<int> cells(picture.values.size(), 0);
  for (int row = 0; row < full.rows; ++row)
    for (int col = 0; col < full.cols; ++col) {
      const int to = row * picture.rows / full.rows * picture.cols + col * picture.cols / full.cols;
      picture.values[static_cast<size_t>(to)] += full.values[static_cast<size_t>(row * full.cols + col)];
      ++cells[static_cast<size_t>(to)];
    }
  for (size_t i = 0; i < cells.size(); ++i)
    if (cells[i] > 0) picture.values[i] /= static_cast<float>(cells[i]);
  measure_extent(picture);
  return std::make_shared<const TensorSample>(std::move(small));
}

void bind_row(Statement& insert, int at, std::optional<int64_t> picture) {
  if (picture)
    insert.bind(at, *picture);
  else
    insert.bind_null(at);
}

}  // namespace

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

void RecordingWriter::write_samples(const RecordedPass& pass, int64_t number, RecordingTotals& added) {
  Statement insert = database_->prepare("INSERT INTO samples VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (size_t rank = 0; rank < pass.samples.size(); ++rank)
    for (size_t tensor = 0; tensor < pass.samples[rank].size(); ++tensor) {
      const TensorSample* sample = pass.samples[rank][tensor].get();
      if (sample == nullptr) continue;
      ++added.samples;
      insert.bind(1, number)
          .bind(2, static_cast<int64_t>(rank))
          .bind(3, static_cast<int64_t>(tensor))
          .bind(4, sample->stats.min)
          .bind(5, sample->stats.max)
          .bind(6, sample->stats.mean)
          .bind(7, sample->stats.rms)
          .bind(8, sample->stats.nan_count)
          .bind(9, static_cast<int64_t>(sample->hash));
      bind_row(insert, 10, pictures_->store(*sample, added));
      insert.run();
    }
}

void RecordingWriter::write_parity(const RecordedPass& pass, int64_t number, RecordingTotals& added) {
  Statement insert = database_->prepare("INSERT INTO parity VALUES(?, ?, ?, ?, ?, ?, ?)");
  for (size_t tensor = 0; tensor < pass.parity.size(); ++tensor) {
    const TensorParity* parity = pass.parity[tensor].get();
    if (parity == nullptr || !parity->compared) continue;
    std::optional<int64_t> picture;
    if (!parity->difference.values.empty()) picture = pictures_->store(parity->difference, added);
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
  if (rank < 0 || rank >= header_.program.tp() || tensor < 0 || tensor >= tensors)
    damaged(fmt::format("its {} name tensor {} on rank {}", of, tensor, rank));
  if (tensors * header_.program.tp() > kMostCells)
    damaged(fmt::format("it has {} tensors on {} ranks", tensors, header_.program.tp()));
}

// Reads a picture, row-major. It must not be larger than the matrix that it shows.
Picture Recording::picture_of(const Statement& row, int column, MatrixShape matrix) const {
  const int64_t rows = row.integer(column), cols = row.integer(column + 1);
  const std::string_view data = row.blob(column + 3);
  if (rows < 1 || cols < 1 || rows > std::min(matrix.rows, kPictureExtent) ||
      cols > std::min(matrix.cols, kPictureExtent))
    damaged(fmt::format("a picture of {} x {} cells shows a matrix of {} x {}", rows, cols, matrix.rows,
                        matrix.cols));
  Picture picture{static_cast<int>(rows), static_cast<int>(cols), {}, {}};
  const auto kind = static_cast<PictureData>(row.integer(column + 2));
  if (kind == PictureData::Exact) return picture;
  const bool halves = kind == PictureData::Halves;
  const auto cells = static_cast<size_t>(rows * cols);
  if ((!halves && kind != PictureData::Floats) ||
      data.size() != (halves ? (1 + cells) * sizeof(uint16_t) : cells * sizeof(float)))
    damaged(fmt::format("a picture of {} x {} cells has {} bytes", rows, cols, data.size()));
  picture.values.resize(cells);
  if (!halves) {
    std::memcpy(picture.values.data(), data.data(), data.size());
    measure_extent(picture);
    return picture;
  }
  std::vector<uint16_t> stored(1 + cells);
  std::memcpy(stored.data(), data.data(), data.size());
  const int exponent = static_cast<int16_t>(stored[0]);
  if (exponent < kLeastCellExponent || exponent > kGreatestCellExponent)
    damaged(fmt::format("a picture's cells are in units of 2^{}", exponent));
  widen_cells(stored.data() + 1, rows * cols, exponent, picture.values.data());
  measure_extent(picture);
  return picture;
}

namespace {

// Columns 0 to 8 belong to the sample, 9 to 12 to its picture.
constexpr const char* kSelectSamples =
    "SELECT s.rank, s.tensor, s.min, s.max, s.mean, s.rms, s.not_finite, s.hash, s.picture,"
    " p.rows, p.cols, p.exact, p.data FROM samples s LEFT JOIN pictures p ON p.picture = s.picture"
    " WHERE s.pass = ?";

}  // namespace

std::shared_ptr<const TensorSample> Recording::read_sample(const Statement& rows,
                                                           SharedSamples& shared) const {
  const Program& program = header_.program;
  const int ranks = program.tp(), rank = static_cast<int>(rows.integer(0));
  const Tensor& tensor = program.tensor(static_cast<TensorId>(rows.integer(1)));
  TensorSample sample;
  sample.shape = local_shape(tensor, ranks, rank);
  sample.matrix = local_matrix_shape(tensor, ranks, rank);
  sample.dtype = tensor.dtype;
  sample.stats.min = rows.number(2);
  sample.stats.max = rows.number(3);
  sample.stats.mean = rows.number(4);
  sample.stats.rms = rows.number(5);
  sample.stats.count = element_count(sample.shape);
  sample.stats.nan_count = rows.integer(6);
  sample.hash = static_cast<uint64_t>(rows.integer(7));
  if (rows.is_null(8)) return std::make_shared<const TensorSample>(std::move(sample));
  std::shared_ptr<const TensorSample>& known = shared[{tensor.id, rows.integer(8), rows.integer(7)}];
  if (known && known->shape == sample.shape) return known;
  if (rows.is_null(9)) damaged(fmt::format("picture {} is missing", rows.integer(8)));
  sample.picture = picture_of(rows, 9, sample.matrix);
  if (rows.integer(11) == static_cast<int64_t>(PictureData::Exact)) {
    const std::string_view data = rows.blob(12);
    const int64_t bytes = sample.stats.count * element_bytes(sample.dtype);
    if (sample.stats.count > kRecordedExactElements || static_cast<int64_t>(data.size()) != bytes)
      damaged(fmt::format("tensor {} has {} bytes on rank {}, but its values take {}", tensor.name,
                          data.size(), rank, bytes));
    sample.exact.resize(data.size());
    std::memcpy(sample.exact.data(), data.data(), data.size());
    sample.picture =
        make_picture(tensor, ranks, rank, sample.exact.data(), sample.picture.rows, sample.picture.cols);
  }
  return known = std::make_shared<const TensorSample>(std::move(sample));
}

SampleTable Recording::samples(int64_t index) const {
  return file_->read([&](Database& database) { return read_samples(database, index); });
}

SampleTable Recording::read_samples(Database& database, int64_t index) const {
  SampleTable table;
  SharedSamples shared;
  Statement rows = database.prepare(kSelectSamples);
  rows.bind(1, index);
  while (rows.step()) {
    const int64_t rank = rows.integer(0), id = rows.integer(1);
    check_cell(rank, id, "samples");
    if (table.empty())
      table.assign(static_cast<size_t>(header_.program.tp()),
                   std::vector<std::shared_ptr<const TensorSample>>(header_.program.tensors.size()));
    table[static_cast<size_t>(rank)][static_cast<size_t>(id)] = read_sample(rows, shared);
  }
  return table;
}

// Finds the pass of each sample without reading a picture: the newest of the passes `from` to `to`.
void Recording::find_samples(Database& database, int64_t from, int64_t to, const std::vector<bool>& wanted,
                             std::vector<std::vector<int64_t>>& passes) const {
  Statement rows = database.prepare(
      "SELECT pass, rank, tensor FROM samples WHERE pass >= ? AND pass <= ? ORDER BY pass DESC, rank, "
      "tensor");
  rows.bind(1, from).bind(2, to);
  const auto is_wanted = [&](size_t tensor) { return tensor < wanted.size() && wanted[tensor]; };
  int64_t missing = 0;
  for (const std::vector<int64_t>& rank : passes)
    for (size_t tensor = 0; tensor < rank.size(); ++tensor) missing += is_wanted(tensor) && rank[tensor] < 0;
  while (missing > 0 && rows.step()) {
    const int64_t rank = rows.integer(1), tensor = rows.integer(2);
    check_cell(rank, tensor, "samples");
    int64_t& pass = passes[static_cast<size_t>(rank)][static_cast<size_t>(tensor)];
    if (pass >= 0 || !is_wanted(static_cast<size_t>(tensor))) continue;
    pass = rows.integer(0);
    --missing;
  }
}

LatestSamples Recording::latest_samples(int64_t index, const std::vector<bool>& wanted,
                                        const LatestSamples& known, int64_t most_bytes) const {
  const size_t tensors = header_.program.tensors.size();
  const auto ranks = static_cast<size_t>(header_.program.tp());
  LatestSamples latest;
  latest.samples.assign(ranks, std::vector<std::shared_ptr<const TensorSample>>(tensors));
  latest.passes = file_->read([&](Database& database) {
    std::vector<std::vector<int64_t>> passes(ranks, std::vector<int64_t>(tensors, -1));
    const int64_t first = std::max<int64_t>(0, index - kPassesLookedBack);
    find_samples(database, first, index, wanted, passes);
    if (first > 0) find_samples(database, 0, 0, wanted, passes);
    return passes;
  });

  int64_t bytes = 0;
  std::map<std::shared_ptr<const TensorSample>, std::shared_ptr<const TensorSample>>
      held;                                                        // by the stored sample
  using Cells = std::vector<std::shared_ptr<const TensorSample>>;  // [tensor of the group][rank]
  for (size_t group = 0; group < tensors; group += kTensorsAtOnce) {
    const size_t end = std::min(tensors, group + kTensorsAtOnce);
    Cells cells = file_->read([&](Database& database) {
      Cells read;
      SharedSamples shared;
      Statement rows = database.prepare(std::string(kSelectSamples) + " AND s.rank = ? AND s.tensor = ?");
      for (size_t tensor = group; tensor < end; ++tensor)
        for (size_t rank = 0; rank < ranks; ++rank) {
          read.emplace_back();
          const int64_t pass = latest.passes[rank][tensor];
          if (pass < 0) continue;
          if (rank < known.passes.size() && known.passes[rank][tensor] == pass)
            read.back() = known.samples[rank][tensor];
          if (read.back()) continue;
          rows.bind(1, pass).bind(2, static_cast<int64_t>(rank)).bind(3, static_cast<int64_t>(tensor));
          if (rows.step()) read.back() = read_sample(rows, shared);
          rows.reset();
        }
      return read;
    });
    auto next = cells.begin();
    for (size_t tensor = group; tensor < end; ++tensor)
      for (size_t rank = 0; rank < ranks; ++rank) {
        const std::shared_ptr<const TensorSample> cell = std::move(*next++);
        if (!cell) continue;
        // Ranks with equal content share one sample, and also its coarse form.
        std::shared_ptr<const TensorSample>& stands = held[cell];
        if (!stands) {
          stands = bytes + held_bytes(*cell) > most_bytes ? coarse(*cell) : cell;
          bytes += held_bytes(*stands);
        }
        latest.samples[rank][tensor] = stands;
      }
  }
  return latest;
}

HashTable Recording::hashes(int64_t index) const {
  return file_->read([&](Database& database) { return read_hashes(database, index); });
}

HashTable Recording::read_hashes(Database& database, int64_t index) const {
  HashTable table;
  Statement rows = database.prepare("SELECT rank, tensor, hash FROM samples WHERE pass = ?");
  rows.bind(1, index);
  while (rows.step()) {
    const int64_t rank = rows.integer(0), tensor = rows.integer(1);
    check_cell(rank, tensor, "samples");
    if (table.empty())
      table.assign(static_cast<size_t>(header_.program.tp()),
                   std::vector<std::optional<uint64_t>>(header_.program.tensors.size()));
    table[static_cast<size_t>(rank)][static_cast<size_t>(tensor)] = static_cast<uint64_t>(rows.integer(2));
  }
  return table;
}

ParityTable Recording::parity(int64_t index) const {
  return parity(index, std::vector<bool>(header_.program.tensors.size(), true));
}

ParityTable Recording::parity(int64_t index, const std::vector<bool>& pictured) const {
  return file_->read([&](Database& database) { return read_parity(database, index, pictured); });
}

ParityTable Recording::read_parity(Database& database, int64_t index,
                                   const std::vector<bool>& pictured) const {
  ParityTable table;
  Statement rows = database.prepare(
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
    parity.relative_error = rows.number(1);
    parity.max_abs_error = rows.number(2);
    parity.bound = rows.number(3);
    parity.ranks_identical = rows.integer(4) != 0;
    if (!rows.is_null(5) && static_cast<size_t>(id) < pictured.size() && pictured[static_cast<size_t>(id)]) {
      if (rows.is_null(6) || rows.integer(8) == static_cast<int64_t>(PictureData::Exact))
        damaged(fmt::format("picture {} of an error is not valid", rows.integer(5)));
      parity.difference =
          picture_of(rows, 6, matrix_shape(header_.program.tensor(static_cast<TensorId>(id))));
    }
    table[static_cast<size_t>(id)] = std::make_shared<const TensorParity>(std::move(parity));
  }
  return table;
}

}  // namespace shardlens
