// Copies windows out of pieces and out of samples.
#include "engine/runtime/window_reader.h"

#include <algorithm>

namespace shardlens {
namespace {

Range common(Range a, Range b) {
  const int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

// Copies what a rank holds of a window. `element` returns an element of the rank's own matrix.
template <class Element>
std::vector<double> copied(const Tensor& tensor, int ranks, int rank, const TensorWindow& window,
                           const Element& element) {
  std::vector<double> values(static_cast<size_t>(window.elements()));
  for (const Placement& piece : placements(tensor, ranks, rank)) {
    const Range rows = common(piece.rows, window.rows), cols = common(piece.cols, window.cols);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const int64_t local_row = row - piece.rows.begin + piece.local_rows.begin;
      double* const to = values.data() + (row - window.rows.begin) * window.cols.size();
      for (int64_t col = cols.begin; col < cols.end; ++col)
        to[col - window.cols.begin] = element(local_row, col - piece.cols.begin + piece.local_cols.begin);
    }
  }
  return values;
}

bool is_written(const Program& program, TensorId tensor) {
  return std::any_of(program.steps.begin(), program.steps.end(), [tensor](const Step& step) {
    return std::find(step.outputs.begin(), step.outputs.end(), tensor) != step.outputs.end();
  });
}

// Some rows of a tensor that only the whole tensor's step shows: the same rows in the whole tensor.
TensorWindow as_shown(const Program& program, TensorWindow window) {
  const Tensor& tensor = program.tensor(window.tensor);
  if (!is_row_view(program, tensor) || is_written(program, window.tensor)) return window;
  window.tensor = tensor.storage;
  window.rows.begin += tensor.first_row;
  window.rows.end += tensor.first_row;
  return window;
}

}  // namespace

bool is_readable(const Program& program, const TensorWindow& window) {
  if (window.tensor < 0 || static_cast<size_t>(window.tensor) >= program.tensors.size()) return false;
  const Tensor& tensor = program.tensor(window.tensor);
  const MatrixShape full = matrix_shape(tensor);
  const auto inside = [](Range range, int64_t extent) {
    return range.begin >= 0 && range.begin < range.end && range.end <= extent;
  };
  return tensor.kind != MemoryKind::Workspace && inside(window.rows, full.rows) &&
         inside(window.cols, full.cols) && window.elements() <= kWindowElements;
}

bool holds(const Tensor& tensor, int ranks, int rank, int64_t row, int64_t col) {
  const std::vector<Placement> pieces = placements(tensor, ranks, rank);
  return std::any_of(pieces.begin(), pieces.end(), [row, col](const Placement& piece) {
    return row >= piece.rows.begin && row < piece.rows.end && col >= piece.cols.begin && col < piece.cols.end;
  });
}

std::shared_ptr<const WindowValues> kept_values(const Program& program, const SampleTable& samples,
                                                const TensorWindow& asked) {
  if (!is_readable(program, asked)) return nullptr;
  const TensorWindow window = as_shown(program, asked);
  const Tensor& tensor = program.tensor(window.tensor);
  const int ranks = program.tp();
  auto values = std::make_shared<WindowValues>(WindowValues{asked, {}, {}});
  for (int rank = 0; rank < ranks; ++rank) {
    const auto r = static_cast<size_t>(rank), id = static_cast<size_t>(window.tensor);
    const TensorSample* const sample =
        r < samples.size() && id < samples[r].size() ? samples[r][id].get() : nullptr;
    const bool is_empty = element_count(local_shape(tensor, ranks, rank)) == 0;
    if (!is_empty && (sample == nullptr || !sample->has_exact())) return nullptr;
    values->ranks.push_back(copied(tensor, ranks, rank, window,
                                   [sample](int64_t row, int64_t col) { return sample->value(row, col); }));
  }
  return values;
}

WindowReader::WindowReader(const Program& program, const std::vector<TensorWindow>& windows)
    : program_(program) {
  for (const TensorWindow& window : windows) {
    if (!is_readable(program, window)) continue;
    Read read{as_shown(program, window), {window, {}, {}}};
    read.values.ranks.resize(static_cast<size_t>(program.tp()));
    steps_ = std::max(steps_, static_cast<size_t>(producer_of(program, window.tensor) + 1));
    reads_.push_back(std::move(read));
  }
}

bool WindowReader::wants(const Tensor& tensor) const {
  return std::any_of(reads_.begin(), reads_.end(),
                     [&](const Read& read) { return read.shown.tensor == tensor.id; });
}

bool WindowReader::take(const SampleTable& samples) {
  for (Read& read : reads_) {
    const auto kept = kept_values(program_, samples, read.values.window);
    if (!kept) return false;
    read.values = *kept;
  }
  return true;
}

// Every rank writes only its own lists, so the ranks need no lock.
void WindowReader::on_tensor(int rank, StepId, const Tensor& tensor, const void* data) {
  const int64_t cols = local_matrix_shape(tensor, program_.tp(), rank).cols;
  for (Read& read : reads_) {
    if (read.shown.tensor != tensor.id) continue;
    read.values.ranks[static_cast<size_t>(rank)] =
        copied(tensor, program_.tp(), rank, read.shown,
               [&](int64_t row, int64_t col) { return element_of(tensor.dtype, data, row * cols + col); });
  }
}

std::vector<std::shared_ptr<const WindowValues>> WindowReader::values(const SerialReference* serial) const {
  std::vector<std::shared_ptr<const WindowValues>> all;
  for (const Read& read : reads_) {
    const auto& ranks = read.values.ranks;
    if (std::any_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank.empty(); })) continue;
    auto values = std::make_shared<WindowValues>(read.values);
    if (serial != nullptr) values->serial = serial_values(program_, *serial, values->window);
    all.push_back(std::move(values));
  }
  return all;
}

std::vector<double> serial_values(const Program& program, const SerialReference& serial,
                                  const TensorWindow& window) {
  const Tensor& tensor = program.tensor(window.tensor);
  const OnReplicas of = on_replicas(program)[static_cast<size_t>(tensor.id)];
  if (of == OnReplicas::Terms) return {};  // only the sum is known
  const SerialPlace place = serial_place(program, tensor, of, 0);
  const SerialValue* const value = serial.value(place.value);
  const int64_t count = element_count(tensor.shape), first = place.first_row * (count / tensor.shape[0]);
  if (value == nullptr || first + count > value->count) return {};
  const int64_t cols = matrix_shape(tensor).cols;
  std::vector<double> values;
  for (int64_t row = window.rows.begin; row < window.rows.end; ++row)
    for (int64_t col = window.cols.begin; col < window.cols.end; ++col)
      values.push_back(element_of(value->dtype, value->bytes.data(), first + row * cols + col));
  return values;
}

}  // namespace shardlens
