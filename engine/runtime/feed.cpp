// Fills tensors before the first step from the seed, from files and from text.
#include "engine/runtime/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "engine/base/error.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/philox.h"
#include "engine/io/file_kind.h"
#include "engine/io/half.h"
#include "engine/io/input_file.h"
#include "engine/io/npy.h"
#include "engine/runtime/stored_weights.h"

namespace shardlens {
namespace {

constexpr double kInitStddev = 0.02;  // GPT-2's and Megatron's initialisation
constexpr int kOperandLimit = 3;      // integer operands: X and dY
constexpr int kWeightLimit = 2;       // integer operands: W and b

// γ starts around 1. Biases, γ and β are drawn like the weights, not set to 0 and 1: zeros would hide a bias
// that is added in the wrong place.
double mean_of(const Tensor& tensor) {
  return tensor.role == Role::NormGain ? 1.0 : 0.0;
}

// A whole model starts like in training: biases and β at 0, γ at 1.
bool starts_constant(const Tensor& tensor, const Settings& settings) {
  return settings.block == Block::Model && tensor.row_dims == 0;
}

void fill_constant(DType dtype, double value, int64_t count, void* out) {
  if (dtype == DType::Fp64) {
    std::fill_n(static_cast<double*>(out), count, value);
  } else {
    std::fill_n(static_cast<float*>(out), count, static_cast<float>(value));
  }
}

// The projections that feed the residual stream start smaller by 1/√(2N) (GPT-2).
double stddev_of(const Tensor& tensor, const Settings& settings) {
  if (tensor.kind == MemoryKind::Input) return 1.0;
  const bool to_residual = tensor.role == Role::AttentionOut || tensor.role == Role::MlpOut;
  return to_residual ? kInitStddev / std::sqrt(2.0 * static_cast<double>(settings.model.layers))
                     : kInitStddev;
}

char* offset(void* data, int64_t elements, DType dtype) {
  return static_cast<char*>(data) + elements * element_bytes(dtype);
}

void copy_as(DType dtype, const double* from, int64_t count, void* to) {
  if (dtype == DType::Fp64) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(double));
    return;
  }
  float* out = static_cast<float*>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(from[i]);
}

// How many elements one thread fills at a time.
constexpr int64_t kPieceElements = 1 << 16;

// Rounds fp32 numbers to a 16-bit format, on up to `threads` threads.
void narrow_on(int threads, DType dtype, const float* values, int64_t count, void* data) {
  cpu::parallel_for(threads, (count + kPieceElements - 1) / kPieceElements, [&](int64_t piece) {
    const int64_t first = piece * kPieceElements;
    narrow(dtype, values + first, std::min(kPieceElements, count - first), offset(data, first, dtype));
  });
}

// A range of the full tensor's flat index, and where it begins in a rank's slice.
struct FlatRun {
  Range full;
  int64_t local = 0;
};

// The ranges that make up a rank's slice, in the slice's order; padding is between them.
std::vector<FlatRun> flat_runs(const Tensor& tensor, int ranks, int rank) {
  if (tensor.layout.kind != LayoutKind::Sharded) return {{{0, element_count(tensor.shape)}, 0}};
  const Slicing axis = slicing(tensor.shape, tensor.layout.dim);
  const Range range = slice_of(tensor.layout, axis.extent, ranks, rank);
  const int64_t room = slice_room(tensor.layout, axis.extent, ranks, rank);
  std::vector<FlatRun> runs;
  for (int64_t o = 0; o < axis.outer && range.size() > 0; ++o) {
    const int64_t base = o * axis.extent;
    runs.push_back(
        {{(base + range.begin) * axis.inner, (base + range.end) * axis.inner}, o * room * axis.inner});
  }
  return runs;
}

// The same, cut into ranges of at most kPieceElements.
std::vector<FlatRun> pieces_of(const std::vector<FlatRun>& runs) {
  std::vector<FlatRun> pieces;
  for (const auto& [full, local] : runs) {
    for (int64_t done = 0; done < full.size(); done += kPieceElements) {
      const int64_t begin = full.begin + done;
      pieces.push_back({{begin, std::min(begin + kPieceElements, full.end)}, local + done});
    }
  }
  return pieces;
}

Range overlap(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// Throws a run Error if one of `count` values is not a finite number. `say_where` says where the value of an
// index is in the file.
template <class SayWhere>
void require_finite_values(DType dtype, const void* data, int64_t count, const SayWhere& say_where) {
  for (int64_t i = 0; i < count; ++i) {
    const double value = dtype == DType::Fp64 ? static_cast<const double*>(data)[i]
                                              : static_cast<double>(static_cast<const float*>(data)[i]);
    if (std::isfinite(value)) continue;
    throw run_error(fmt::format("{} is {}, but it must be a finite number", say_where(i),
                                std::isnan(value) ? "NaN" : "infinite"));
  }
}

std::vector<double> read_npy_input(const std::string& path, const Settings& settings) {
  const NpyFile array(path);
  const Shape flat{settings.tokens(), settings.model.hidden};
  const Shape batched{settings.batch, settings.seq, settings.model.hidden};
  if (array.shape() != flat && array.shape() != batched) {
    throw request_error(
        fmt::format("{}: X has shape {}; this run needs {} or {}. Change --batch, --seq or the model, "
                    "or save the array in one of these shapes",
                    path, to_string(array.shape()), to_string(flat), to_string(batched)));
  }
  array.require_floats();
  std::vector<double> x(static_cast<size_t>(element_count(flat)));
  array.read_floats(DType::Fp64, x.data());
  if (settings.dtype != DType::Fp64)  // as copy_as() will round it
    for (double& value : x) value = static_cast<double>(static_cast<float>(value));
  const int64_t cols = settings.model.hidden;
  require_finite_values(DType::Fp64, x.data(), element_count(flat), [&](int64_t i) {
    return fmt::format("{}: the value of X {} at {}", path, to_string(flat),
                       to_string(Shape{i / cols, i % cols}));
  });
  return x;
}

// Looks every byte of the text up as a row of a seeded table [256, hidden].
std::vector<double> read_text_input(const std::string& path, const Settings& settings) {
  const InputFile file(path);
  if (file.size() < settings.tokens()) {
    throw request_error(
        fmt::format("{}: the text has {} bytes, but batch {} × sequence {} needs {}; give a longer text "
                    "or a smaller batch or sequence",
                    path, file.size(), settings.batch, settings.seq, settings.tokens()));
  }
  std::string text(static_cast<size_t>(settings.tokens()), '\0');
  file.read(0, text.data(), text.size());
  require_text(path, text);
  const int64_t hidden = settings.model.hidden;
  std::vector<double> table(static_cast<size_t>(256 * hidden));
  fill_normal(RandomStream(settings.seed, "byte_embedding"), 0.0, 1.0, 0, 256 * hidden, DType::Fp64,
              table.data());
  std::vector<double> x(static_cast<size_t>(settings.tokens() * hidden));
  for (size_t t = 0; t < text.size(); ++t) {
    const auto row = static_cast<size_t>(static_cast<unsigned char>(text[t])) * static_cast<size_t>(hidden);
    std::copy_n(table.begin() + static_cast<std::ptrdiff_t>(row), hidden,
                x.begin() + static_cast<std::ptrdiff_t>(t * static_cast<size_t>(hidden)));
  }
  return x;
}

// The same as require_finite_values() for a region of a stored tensor that was read into `data`.
void require_finite_region(const SafetensorsFile& file, const StoredTensor& stored,
                           const std::vector<Range>& region, DType dtype, const void* data) {
  const int64_t cols = region.back().size();
  int64_t count = cols;
  if (region.size() == 2) count *= region[0].size();
  require_finite_values(dtype, data, count, [&](int64_t i) {
    Shape place{region.back().begin + i % cols};
    if (region.size() == 2) place.insert(place.begin(), region[0].begin + i / cols);
    return fmt::format("{}, tensor \"{}\" of shape {}: the value at {}", file.path_of(stored), stored.name,
                       to_string(stored.shape), to_string(place));
  });
}

}  // namespace

Feed::Feed(const Program& program) : program_(program), partner_(program.tensors.size(), kNoTensor) {
  const Settings& settings = program.settings;
  for (const Step& step : program.steps) {  // a weight and its master meet in the step that updates them
    if (step.op != Op::AdamW) continue;
    const TensorId master = input_of(program, step, Operand::Master);
    if (master == kNoTensor) continue;
    const TensorId weight = input_of(program, step, Operand::Parameter);
    partner_[static_cast<size_t>(weight)] = master;
    partner_[static_cast<size_t>(master)] = weight;
  }
  if (settings.input.kind == InputKind::Npy) input_ = read_npy_input(settings.input.path, settings);
  if (settings.input.kind == InputKind::Text) input_ = read_text_input(settings.input.path, settings);
  if (settings.weights_path.empty()) return;
  weights_ = std::make_unique<StoredWeights>(settings.weights_path, settings);
  if (settings.block == Block::Model) require_fitted(*weights_);
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != MemoryKind::Weight || tensor.storage != kNoTensor) continue;
    if (!weights_->has(tensor)) continue;
    for (const StoredPart& part : stored_parts(settings, tensor)) weights_->require(part);
  }
}

Feed::~Feed() = default;

std::vector<std::string> Feed::weight_files() const {
  return weights_ ? weights_->file().paths() : std::vector<std::string>();
}

void Feed::fill_seeded(const Tensor& tensor, int rank, int threads, void* data) const {
  const Settings& settings = program_.settings;
  if (starts_constant(tensor, settings)) {
    const int64_t count = element_count(local_shape(tensor, program_.tp(), rank));
    return fill_constant(tensor.dtype, mean_of(tensor), count, data);
  }
  const RandomStream stream(settings.seed, tensor.name);
  const bool integers = settings.operands == Operands::Integer;
  const int limit = tensor.kind == MemoryKind::Input ? kOperandLimit : kWeightLimit;
  if (tensor.layout.padded)
    fill_constant(tensor.dtype, 0, element_count(local_shape(tensor, program_.tp(), rank)), data);
  const std::vector<FlatRun> pieces = pieces_of(flat_runs(tensor, program_.tp(), rank));
  cpu::parallel_for(threads, static_cast<int64_t>(pieces.size()), [&](int64_t i) {
    const auto& [run, local] = pieces[static_cast<size_t>(i)];
    void* out = offset(data, local, tensor.dtype);
    if (integers && tensor.role != Role::NormGain) {
      fill_integers(stream, limit, run.begin, run.size(), tensor.dtype, out);
    } else {
      fill_normal(stream, mean_of(tensor), stddev_of(tensor, settings), run.begin, run.size(), tensor.dtype,
                  out);
    }
  });
  // Rows that only pad the vocabulary hold zeros, like when a checkpoint is read.
  if (tensor.kind != MemoryKind::Weight || tensor.row_dims != 1 || tensor.shape[0] <= settings.model.vocab)
    return;
  const StoredPart part = stored_parts(settings, tensor).front();
  const int64_t own_cols = local_matrix_shape(tensor, program_.tp(), rank).cols;
  for (const Placement& place : placements(tensor, program_.tp(), rank)) {
    const Range padding = overlap({part.rows.end, tensor.shape[0]}, place.rows);
    if (padding.size() <= 0) continue;
    const int64_t local = place.local_rows.begin + padding.begin - place.rows.begin;
    fill_constant(tensor.dtype, 0, padding.size() * own_cols, offset(data, local * own_cols, tensor.dtype));
  }
}

// Reads, of each stored part, what the rank's slice holds, and puts it in its place.
void Feed::fill_stored(const Tensor& tensor, int rank, void* data) const {
  const int64_t element = element_bytes(tensor.dtype);
  const int64_t own_cols = local_matrix_shape(tensor, program_.tp(), rank).cols;
  fill_constant(tensor.dtype, 0, element_count(local_shape(tensor, program_.tp(), rank)), data);
  for (const StoredPart& part : stored_parts(program_.settings, tensor)) {
    const StoredTensor& stored = weights_->require(part);
    for (const Placement& place : placements(tensor, program_.tp(), rank)) {
      const Range rows = overlap(part.rows, place.rows), cols = overlap(part.cols, place.cols);
      if (rows.size() <= 0 || cols.size() <= 0) continue;
      const Range in_rows{rows.begin - part.rows.begin, rows.end - part.rows.begin};
      const int64_t shift = part.stored_col - part.cols.begin;
      const Range in_cols{cols.begin + shift, cols.end + shift};
      std::vector<Range> region{in_rows, in_cols};
      if (part.transposed) std::swap(region[0], region[1]);
      if (tensor.row_dims == 0) region = {in_cols};
      std::vector<std::byte> piece(static_cast<size_t>(rows.size() * cols.size() * element));
      weights_->file().read(stored, part.shape, region, tensor.dtype, piece.data());
      require_finite_region(weights_->file(), stored, region, tensor.dtype, piece.data());
      for (int64_t row = 0; row < rows.size(); ++row) {
        const int64_t to = (place.local_rows.begin + rows.begin - place.rows.begin + row) * own_cols +
                           place.local_cols.begin + cols.begin - place.cols.begin;
        auto* out = static_cast<std::byte*>(data) + to * element;
        if (!part.transposed) {
          std::memcpy(out, piece.data() + row * cols.size() * element,
                      static_cast<size_t>(cols.size() * element));
          continue;
        }
        for (int64_t col = 0; col < cols.size(); ++col)
          std::memcpy(out + col * element, piece.data() + (col * rows.size() + row) * element,
                      static_cast<size_t>(element));
      }
    }
  }
}

bool Feed::is_zero(const Tensor& tensor) const {
  if (tensor.kind == MemoryKind::KeyValueCache) return true;
  return tensor.kind == MemoryKind::OptimizerState && weight_of(tensor) == nullptr;
}

const Tensor* Feed::master_of(const Tensor& weight) const {
  const TensorId partner = partner_[static_cast<size_t>(weight.id)];
  return weight.kind == MemoryKind::Weight && partner != kNoTensor ? &program_.tensor(partner) : nullptr;
}

const Tensor* Feed::weight_of(const Tensor& tensor) const {
  const TensorId partner = partner_[static_cast<size_t>(tensor.id)];
  return tensor.kind != MemoryKind::Weight && partner != kNoTensor ? &program_.tensor(partner) : nullptr;
}

void Feed::fill(const Tensor& tensor, int rank, int threads, void* data) const {
  const int64_t count = element_count(local_shape(tensor, program_.tp(), rank));
  if (count == 0) return;
  if (is_half(tensor.dtype)) {  // the same values as in fp32, rounded
    Tensor wide = tensor;
    wide.dtype = DType::Fp32;
    const auto values = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(count));
    fill(wide, rank, threads, values.get());
    return narrow_on(threads, tensor.dtype, values.get(), count, data);
  }
  if (const Tensor* const weight = weight_of(tensor)) {
    Tensor wide = *weight;
    wide.dtype = tensor.dtype;
    return fill(wide, rank, threads, data);
  }
  if (tensor.role == Role::LayerInput && !input_.empty()) {
    for (const auto& [run, local] : flat_runs(tensor, program_.tp(), rank))
      copy_as(tensor.dtype, input_.data() + run.begin, run.size(), offset(data, local, tensor.dtype));
  } else if (tensor.kind == MemoryKind::Weight && weights_ && weights_->has(tensor)) {
    fill_stored(tensor, rank, data);
  } else if (is_zero(tensor)) {
    fill_constant(tensor.dtype, 0, count, data);
  } else {
    fill_seeded(tensor, rank, threads, data);
  }
}

void Feed::round_master(const Tensor& weight, int rank, int threads, const void* master, void* data) const {
  const int64_t count = element_count(local_shape(weight, program_.tp(), rank));
  narrow_on(threads, weight.dtype, static_cast<const float*>(master), count, data);
}

namespace {

// Copies rows [first, first + rows) of ids [batch, cols]; fills with `usual` if the batch leaves them out.
void fill_ids(const std::vector<int32_t>& ids, int32_t usual, int64_t first, int64_t rows, int64_t cols,
              void* data) {
  auto* out = static_cast<int32_t*>(data);
  if (ids.empty()) {
    std::fill_n(out, rows * cols, usual);
  } else {
    std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(first * cols), rows * cols, out);
  }
}

// Every label that counts has the same weight, and over the whole batch the weights sum to 1. So the losses
// of the parts of a batch and of its replicas simply add up.
void fill_weights(const std::vector<int32_t>& labels, int64_t first, int64_t count, DType dtype, void* data) {
  const auto counted = static_cast<double>(
      std::count_if(labels.begin(), labels.end(), [](int32_t label) { return label != kIgnoredLabel; }));
  for (int64_t i = 0; i < count; ++i) {
    const bool counts = !labels.empty() && labels[static_cast<size_t>(first + i)] != kIgnoredLabel;
    fill_constant(dtype, counts ? 1.0 / counted : 0.0, 1, offset(data, i, dtype));
  }
}

}  // namespace

void Feed::fill_input(const Tensor& tensor, const PassInputs& inputs, int replica, void* data) const {
  const Settings& settings = program_.settings;
  const Batch& batch = *inputs.batch;
  const int64_t rows = settings.micro_batch();
  const int64_t first = (replica * settings.micro_batches + tensor.micro_batch) * rows;
  const auto ids = [&](const std::vector<int32_t>& of_batch, int32_t usual, int64_t cols) {
    fill_ids(of_batch, usual, first, rows, cols, data);
  };
  auto* const out = static_cast<int32_t*>(data);
  switch (tensor.role) {
    case Role::Tokens:
      return ids(batch.tokens, 0, settings.seq);
    case Role::Labels:
      return ids(batch.labels, kIgnoredLabel, settings.seq);
    case Role::TokenTypes:
      return ids(batch.token_types, 0, settings.seq);
    case Role::AttentionMask:
      return ids(batch.attention_mask, 1, settings.seq);
    case Role::SentenceLabels:
      return ids(batch.sentence_labels, kIgnoredLabel, 1);
    case Role::TokenWeights:
      return fill_weights(batch.labels, first * settings.seq, rows * settings.seq, tensor.dtype, data);
    case Role::SentenceWeights:
      return fill_weights(batch.sentence_labels, first, rows, tensor.dtype, data);
    case Role::LossScale:
      return fill_constant(tensor.dtype, inputs.loss_scale, 1, data);
    case Role::LastRows:  // of X [rows * seq]
      for (int64_t row = 0; row < rows; ++row) out[row] = static_cast<int32_t>((row + 1) * settings.seq - 1);
      return;
    case Role::Positions:
      if (!batch.positions.empty()) return ids(batch.positions, 0, settings.seq);
      for (int64_t i = 0; i < rows * settings.seq; ++i) out[i] = static_cast<int32_t>(i % settings.seq);
      return;
    default:
      throw std::logic_error("nobody feeds the input " + tensor.name);
  }
}

}  // namespace shardlens
