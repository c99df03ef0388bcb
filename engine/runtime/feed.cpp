// Seeded values, files and text as the tensors a run begins with.
#include "engine/runtime/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "engine/config/error.h"
#include "engine/io/npy.h"
#include "engine/io/safetensors.h"
#include "engine/runtime/philox.h"

namespace shardlens {
namespace {

constexpr double kInitStddev = 0.02;  // GPT-2's and Megatron's initialisation
constexpr int kOperandLimit = 3;      // integer operands: X and dY
constexpr int kWeightLimit = 2;       // integer operands: W and b

// γ starts around 1. Biases, γ and β are drawn like the weights, not set to 0 and 1: a bias added in the
// wrong place would hide behind zeros.
double mean_of(const Tensor& tensor) {
  return tensor.symbol == "γ" ? 1.0 : 0.0;
}

// The projections that feed the residual stream start smaller by 1/√(2N) (GPT-2; DESIGN section 4).
double stddev_of(const Tensor& tensor, const Settings& settings) {
  if (tensor.kind == MemoryKind::Input) return 1.0;
  const bool to_residual = tensor.symbol == "Wo" || tensor.symbol == "Wproj";
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

// The runs of the full tensor's flat index that a rank's slice is made of, in the slice's own order.
std::vector<Range> flat_runs(const Tensor& tensor, int ranks, int rank) {
  if (tensor.layout.kind != LayoutKind::Sharded) return {{0, element_count(tensor.shape)}};
  const Slicing axis = slicing(tensor.shape, tensor.layout.dim);
  const Range range = shard_range(axis.extent, ranks, rank);
  std::vector<Range> runs;
  for (int64_t o = 0; o < axis.outer && range.size() > 0; ++o) {
    const int64_t base = o * axis.extent;
    runs.push_back({(base + range.begin) * axis.inner, (base + range.end) * axis.inner});
  }
  return runs;
}

// The shape a checkpoint gives the tensor: matrices [in, out], biases and norms [out].
Shape stored_shape(const Tensor& tensor) {
  const MatrixShape matrix = matrix_shape(tensor);
  return tensor.row_dims == 0 ? Shape{matrix.cols} : Shape{matrix.rows, matrix.cols};
}

std::vector<Range> slice_region(const Tensor& tensor, int ranks, int rank) {
  std::vector<Range> region;
  for (int64_t extent : tensor.shape) region.push_back({0, extent});
  if (tensor.layout.kind == LayoutKind::Sharded) {
    Range& cut = region[static_cast<size_t>(tensor.layout.dim)];
    cut = shard_range(cut.end, ranks, rank);
  }
  return region;
}

std::vector<double> read_npy_input(const std::string& path, const Settings& settings) {
  const NpyArray array = read_npy(path);
  const Shape flat{settings.tokens(), settings.model.hidden};
  const Shape batched{settings.batch, settings.seq, settings.model.hidden};
  if (array.shape != flat && array.shape != batched) {
    throw request_error(
        fmt::format("{}: X has shape {}; this run needs {} or {}. Change --batch, --seq or the model, "
                    "or save the array in one of these shapes",
                    path, to_string(array.shape), to_string(flat), to_string(batched)));
  }
  std::vector<double> x(static_cast<size_t>(element_count(flat)));
  copy_floats(array, path, DType::Fp64, x.data());
  return x;
}

// Bytes of the text look rows up in a seeded table [256, hidden].
std::vector<double> read_text_input(const std::string& path, const Settings& settings) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw request_error(fmt::format("{}: the text cannot be opened; give a readable file", path));
  std::string text(static_cast<size_t>(settings.tokens()), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.gcount() < static_cast<std::streamsize>(text.size())) {
    throw request_error(
        fmt::format("{}: the text has {} bytes and batch {} × sequence {} needs {}; give a longer text "
                    "or a smaller batch or sequence",
                    path, file.gcount(), settings.batch, settings.seq, text.size()));
  }
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

void check_finite(const Tensor& tensor, const void* data, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const double value = tensor.dtype == DType::Fp64
                             ? static_cast<const double*>(data)[i]
                             : static_cast<double>(static_cast<const float*>(data)[i]);
    if (!std::isfinite(value)) {
      throw run_error(
          fmt::format("tensor {} {} holds {} at element {} of this rank's slice; the file's values must be "
                      "finite numbers",
                      tensor.name, to_string(tensor.shape), std::isnan(value) ? "NaN" : "infinity", i));
    }
  }
}

}  // namespace

Feed::Feed(const Program& program) : program_(program) {
  const Settings& settings = program.settings;
  if (settings.input.kind == InputKind::Npy) input_ = read_npy_input(settings.input.path, settings);
  if (settings.input.kind == InputKind::Text) input_ = read_text_input(settings.input.path, settings);
  if (settings.weights_path.empty()) return;
  weights_ = std::make_unique<SafetensorsFile>(settings.weights_path);
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind == MemoryKind::Weight) weights_->require(tensor.name, stored_shape(tensor));
  }
}

Feed::~Feed() = default;

void Feed::fill_seeded(const Tensor& tensor, int rank, void* data) const {
  const Settings& settings = program_.settings;
  const RandomStream stream(settings.seed, tensor.name);
  const bool integers = settings.operands == Operands::Integer;
  const int limit = tensor.kind == MemoryKind::Input ? kOperandLimit : kWeightLimit;
  int64_t done = 0;
  for (const Range& run : flat_runs(tensor, program_.ranks(), rank)) {
    void* out = offset(data, done, tensor.dtype);
    if (integers && tensor.symbol != "γ") {
      fill_integers(stream, limit, run.begin, run.size(), tensor.dtype, out);
    } else {
      fill_normal(stream, mean_of(tensor), stddev_of(tensor, settings), run.begin, run.size(), tensor.dtype,
                  out);
    }
    done += run.size();
  }
}

void Feed::fill(const Tensor& tensor, int rank, void* data) const {
  const int64_t count = element_count(local_shape(tensor, program_.ranks(), rank));
  if (count == 0) return;
  if (tensor.kind == MemoryKind::Input && tensor.name == "X" && !input_.empty()) {
    copy_as(tensor.dtype, input_.data(), count, data);
    check_finite(tensor, data, count);
  } else if (tensor.kind == MemoryKind::Weight && weights_) {
    weights_->read(weights_->require(tensor.name, stored_shape(tensor)), tensor.shape,
                   slice_region(tensor, program_.ranks(), rank), tensor.dtype, data);
    check_finite(tensor, data, count);
  } else {
    fill_seeded(tensor, rank, data);
  }
}

}  // namespace shardlens
