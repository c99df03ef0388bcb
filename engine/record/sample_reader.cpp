// Reads and checks the samples, their pictures and the parity of a recording.
#include "engine/record/sample_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/device/cells.h"
#include "engine/io/sqlite.h"
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

// Columns 0 to 8 belong to the sample, 9 to 12 to its picture.
constexpr const char* kSelectSamples =
    "SELECT s.rank, s.tensor, s.min, s.max, s.mean, s.rms, s.not_finite, s.hash, s.picture,"
    " p.rows, p.cols, p.exact, p.data FROM samples s LEFT JOIN pictures p ON p.picture = s.picture"
    " WHERE s.pass = ?";

}  // namespace

void SampleReader::check_cell(int64_t rank, int64_t tensor, const char* of) const {
  const auto tensors = static_cast<int64_t>(program_.tensors.size());
  if (rank < 0 || rank >= program_.tp() || tensor < 0 || tensor >= tensors)
    file_.damaged(fmt::format("its {} name tensor {} on rank {}", of, tensor, rank));
  if (tensors * program_.tp() > kMostCells)
    file_.damaged(fmt::format("it has {} tensors on {} ranks", tensors, program_.tp()));
}

// Reads a picture, row-major. It must not be larger than the matrix that it shows.
Picture SampleReader::picture_of(const Statement& row, int column, MatrixShape matrix) const {
  const int64_t rows = row.integer(column), cols = row.integer(column + 1);
  const std::string_view data = row.blob(column + 3);
  if (rows < 1 || cols < 1 || rows > std::min(matrix.rows, kPictureExtent) ||
      cols > std::min(matrix.cols, kPictureExtent))
    file_.damaged(fmt::format("a picture of {} x {} cells shows a matrix of {} x {}", rows, cols, matrix.rows,
                              matrix.cols));
  Picture picture{static_cast<int>(rows), static_cast<int>(cols), {}, {}};
  const auto kind = static_cast<PictureData>(row.integer(column + 2));
  if (kind == PictureData::Exact) return picture;
  const bool halves = kind == PictureData::Halves;
  const auto cells = static_cast<size_t>(rows * cols);
  if ((!halves && kind != PictureData::Floats) ||
      data.size() != (halves ? (1 + cells) * sizeof(uint16_t) : cells * sizeof(float)))
    file_.damaged(fmt::format("a picture of {} x {} cells has {} bytes", rows, cols, data.size()));
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
    file_.damaged(fmt::format("a picture's cells are in units of 2^{}", exponent));
  widen_cells(stored.data() + 1, rows * cols, exponent, picture.values.data());
  measure_extent(picture);
  return picture;
}

std::shared_ptr<const TensorSample> SampleReader::read_sample(const Statement& rows,
                                                              SharedSamples& shared) const {
  const int ranks = program_.tp(), rank = static_cast<int>(rows.integer(0));
  const Tensor& tensor = program_.tensor(static_cast<TensorId>(rows.integer(1)));
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
  if (rows.is_null(9)) file_.damaged(fmt::format("picture {} is missing", rows.integer(8)));
  sample.picture = picture_of(rows, 9, sample.matrix);
  if (rows.integer(11) == static_cast<int64_t>(PictureData::Exact)) {
    const std::string_view data = rows.blob(12);
    const int64_t bytes = sample.stats.count * element_bytes(sample.dtype);
    if (sample.stats.count > kRecordedExactElements || static_cast<int64_t>(data.size()) != bytes)
      file_.damaged(fmt::format("tensor {} has {} bytes on rank {}, but its values take {}", tensor.name,
                                data.size(), rank, bytes));
    sample.exact.resize(data.size());
    std::memcpy(sample.exact.data(), data.data(), data.size());
    sample.picture =
        make_picture(tensor, ranks, rank, sample.exact.data(), sample.picture.rows, sample.picture.cols);
  }
  return known = std::make_shared<const TensorSample>(std::move(sample));
}

SampleTable SampleReader::samples(int64_t index) const {
  return file_.read([&](Database& database) { return read_samples(database, index); });
}

SampleTable SampleReader::read_samples(Database& database, int64_t index) const {
  SampleTable table;
  SharedSamples shared;
  Statement rows = database.prepare(kSelectSamples);
  rows.bind(1, index);
  while (rows.step()) {
    const int64_t rank = rows.integer(0), id = rows.integer(1);
    check_cell(rank, id, "samples");
    if (table.empty())
      table.assign(static_cast<size_t>(program_.tp()),
                   std::vector<std::shared_ptr<const TensorSample>>(program_.tensors.size()));
    table[static_cast<size_t>(rank)][static_cast<size_t>(id)] = read_sample(rows, shared);
  }
  return table;
}

// Finds the pass of each sample without reading a picture: the newest of the passes `from` to `to`.
void SampleReader::find_samples(Database& database, int64_t from, int64_t to, const std::vector<bool>& wanted,
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

LatestSamples SampleReader::latest_samples(int64_t index, const std::vector<bool>& wanted,
                                           const LatestSamples& known, int64_t most_bytes) const {
  const size_t tensors = program_.tensors.size();
  const auto ranks = static_cast<size_t>(program_.tp());
  LatestSamples latest;
  latest.samples.assign(ranks, std::vector<std::shared_ptr<const TensorSample>>(tensors));
  latest.passes = file_.read([&](Database& database) {
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
    Cells cells = file_.read([&](Database& database) {
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

HashTable SampleReader::hashes(int64_t index) const {
  return file_.read([&](Database& database) { return read_hashes(database, index); });
}

HashTable SampleReader::read_hashes(Database& database, int64_t index) const {
  HashTable table;
  Statement rows = database.prepare("SELECT rank, tensor, hash FROM samples WHERE pass = ?");
  rows.bind(1, index);
  while (rows.step()) {
    const int64_t rank = rows.integer(0), tensor = rows.integer(1);
    check_cell(rank, tensor, "samples");
    if (table.empty())
      table.assign(static_cast<size_t>(program_.tp()),
                   std::vector<std::optional<uint64_t>>(program_.tensors.size()));
    table[static_cast<size_t>(rank)][static_cast<size_t>(tensor)] = static_cast<uint64_t>(rows.integer(2));
  }
  return table;
}

ParityTable SampleReader::parity(int64_t index, const std::vector<bool>& pictured) const {
  return file_.read([&](Database& database) { return read_parity(database, index, pictured); });
}

ParityTable SampleReader::read_parity(Database& database, int64_t index,
                                      const std::vector<bool>& pictured) const {
  ParityTable table;
  const bool has_places =  // older recordings have not
      database.integer("SELECT COUNT(*) FROM pragma_table_info('parity') WHERE name = 'replica'") > 0;
  Statement rows = database.prepare(fmt::format(
      "SELECT q.tensor, q.relative_error, q.max_abs_error, q.bound, q.ranks_identical, q.picture,"
      " p.rows, p.cols, p.exact, p.data, {} FROM parity q LEFT JOIN pictures p ON p.picture = q.picture"
      " WHERE q.pass = ?",
      has_places ? "q.to_terms, q.replica, q.rank" : "0, -1, -1"));
  rows.bind(1, index);
  while (rows.step()) {
    const int64_t id = rows.integer(0);
    check_cell(0, id, "errors");
    if (table.empty()) table.resize(program_.tensors.size());
    TensorParity parity;
    parity.compared = true;
    parity.relative_error = rows.number(1);
    parity.max_abs_error = rows.number(2);
    parity.bound = rows.number(3);
    parity.ranks_identical = rows.integer(4) != 0;
    parity.relative_to_terms = rows.integer(10) != 0;
    const int64_t replica = rows.integer(11), rank = rows.integer(12);
    if (replica < -1 || replica >= program_.dp() || rank < -1 || rank >= program_.tp())
      file_.damaged(fmt::format("an error is on rank {} of replica {}, which do not exist", rank, replica));
    parity.replica = static_cast<int>(replica);
    parity.rank = static_cast<int>(rank);
    if (!rows.is_null(5) && static_cast<size_t>(id) < pictured.size() && pictured[static_cast<size_t>(id)]) {
      if (rows.is_null(6) || rows.integer(8) == static_cast<int64_t>(PictureData::Exact))
        file_.damaged(fmt::format("picture {} of an error is not valid", rows.integer(5)));
      parity.difference = picture_of(rows, 6, matrix_shape(program_.tensor(static_cast<TensorId>(id))));
    }
    table[static_cast<size_t>(id)] = std::make_shared<const TensorParity>(std::move(parity));
  }
  return table;
}

}  // namespace shardlens
