// Statistics, hash and picture of one rank's piece, in one pass over the values each.
#include "engine/record/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/io/half.h"

namespace shardlens {
namespace {

template <typename T>
TensorStats make_stats(const T* values, int64_t count) {
  // Eight running figures side by side, joined at the end: the loop vectorises and the sums stay short.
  constexpr int64_t kLanes = 8;
  double sum[kLanes] = {}, squares[kLanes] = {};
  T low[kLanes], high[kLanes];
  int64_t bad = 0;
  std::fill_n(low, kLanes, std::numeric_limits<T>::max());
  std::fill_n(high, kLanes, std::numeric_limits<T>::lowest());
  const auto take = [&](int64_t lane, T value) {
    if (!std::isfinite(static_cast<double>(value))) {
      ++bad;
      return;
    }
    const double wide = static_cast<double>(value);
    sum[lane] += wide;
    squares[lane] += wide * wide;
    low[lane] = std::min(low[lane], value);
    high[lane] = std::max(high[lane], value);
  };
  for (int64_t i = 0; i < count; ++i) take(i % kLanes, values[i]);

  TensorStats stats;
  stats.count = count;
  stats.nan_count = bad;
  const int64_t good = count - bad;
  if (good == 0) return stats;
  double total = 0, total_squares = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    total += sum[lane];
    total_squares += squares[lane];
  }
  stats.min = static_cast<double>(*std::min_element(low, low + kLanes));
  stats.max = static_cast<double>(*std::max_element(high, high + kLanes));
  stats.mean = total / static_cast<double>(good);
  stats.rms = std::sqrt(total_squares / static_cast<double>(good));
  return stats;
}

// Cell r of `cells` covers rows [r * extent / cells, (r + 1) * extent / cells): never empty while cells <=
// extent.
int64_t cell_begin(int64_t cell, int64_t cells, int64_t extent) {
  return cell * extent / cells;
}

template <typename T>
Picture make_picture(const T* values, MatrixShape matrix, int64_t extent) {
  Picture picture;
  picture.rows = static_cast<int>(std::min(matrix.rows, extent));
  picture.cols = static_cast<int>(std::min(matrix.cols, extent));
  picture.values.resize(static_cast<size_t>(picture.rows) * static_cast<size_t>(picture.cols));
  for (int64_t r = 0; r < picture.rows; ++r) {
    const int64_t row_begin = cell_begin(r, picture.rows, matrix.rows);
    const int64_t row_end = cell_begin(r + 1, picture.rows, matrix.rows);
    for (int64_t c = 0; c < picture.cols; ++c) {
      const int64_t col_begin = cell_begin(c, picture.cols, matrix.cols);
      const int64_t col_end = cell_begin(c + 1, picture.cols, matrix.cols);
      double sum = 0;
      for (int64_t i = row_begin; i < row_end; ++i) {
        const T* row = values + i * matrix.cols;
        for (int64_t j = col_begin; j < col_end; ++j) sum += static_cast<double>(row[j]);
      }
      const int64_t cells = (row_end - row_begin) * (col_end - col_begin);
      picture.values[static_cast<size_t>(r * picture.cols + c)] =
          static_cast<float>(sum / static_cast<double>(cells));
    }
  }
  return picture;
}

template <typename T>
void sample_values(TensorSample& sample, const void* data, int64_t extent) {
  const T* values = static_cast<const T*>(data);
  const int64_t count = element_count(sample.shape);
  sample.stats = make_stats(values, count);
  if (count > 0) sample.picture = make_picture(values, sample.matrix, extent);
}

}  // namespace

double TensorSample::value(int64_t row, int64_t col) const {
  const size_t index = static_cast<size_t>(row * matrix.cols + col);
  if (dtype == DType::Fp64) {
    double value;
    std::memcpy(&value, exact.data() + index * sizeof value, sizeof value);
    return value;
  }
  if (dtype == DType::Int32) {
    int32_t value;
    std::memcpy(&value, exact.data() + index * sizeof value, sizeof value);
    return value;
  }
  if (is_half(dtype)) return static_cast<double>(widened(dtype, exact.data() + index * 2, 1).front());
  float value;
  std::memcpy(&value, exact.data() + index * sizeof value, sizeof value);
  return static_cast<double>(value);
}

TensorSample make_sample(const Tensor& tensor, int ranks, int rank, const void* data,
                         const SampleDetail& detail) {
  TensorSample sample;
  sample.shape = local_shape(tensor, ranks, rank);
  sample.matrix = local_matrix_shape(tensor, ranks, rank);
  sample.dtype = tensor.dtype;
  const size_t bytes = static_cast<size_t>(element_count(sample.shape) * element_bytes(tensor.dtype));
  sample.hash = hash_bytes(data, bytes);
  switch (tensor.dtype) {
    case DType::Fp32:
      sample_values<float>(sample, data, detail.picture_extent);
      break;
    case DType::Fp64:
      sample_values<double>(sample, data, detail.picture_extent);
      break;
    case DType::Int32:
      sample_values<int32_t>(sample, data, detail.picture_extent);
      break;
    case DType::Fp16:
    case DType::Bf16:
      sample_values<float>(sample, widened(tensor.dtype, data, element_count(sample.shape)).data(),
                           detail.picture_extent);
      break;
  }
  if (element_count(sample.shape) <= detail.exact_elements && bytes > 0) {
    sample.exact.resize(bytes);
    std::memcpy(sample.exact.data(), data, bytes);
  }
  return sample;
}

namespace {

// What all ranks' exact values of a tensor take: a Replicated one is kept once.
int64_t exact_bytes(const Tensor& tensor, int ranks) {
  return tensor.bytes() * (tensor.layout.kind == LayoutKind::Partial ? ranks : 1);
}

}  // namespace

int64_t picture_extent(const Program& program, int pictures_per_tensor) {
  const auto bytes_at = [&](int64_t extent) {
    int64_t cells = 0;
    for (const Tensor& tensor : program.tensors) {
      if (tensor.kind == MemoryKind::Workspace) continue;
      const MatrixShape shape = matrix_shape(tensor);
      cells += std::min(shape.rows, extent) * std::min(shape.cols, extent);
    }
    return cells * pictures_per_tensor * static_cast<int64_t>(sizeof(float));
  };
  constexpr int64_t kLeastExtent = 32;
  int64_t extent = kPictureExtent;
  while (extent > kLeastExtent && bytes_at(extent) > kPictureBudgetBytes) extent /= 2;
  return extent;
}

SamplePlan plan_samples(const Program& program, int64_t exact_budget_bytes) {
  SamplePlan plan;
  const SampleDetail picture_only{picture_extent(program, program.ranks()), 0};
  plan.details.assign(program.tensors.size(), picture_only);
  std::vector<TensorId> order;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != MemoryKind::Workspace) order.push_back(tensor.id);
  }
  plan.sampled = static_cast<int64_t>(order.size());
  std::stable_sort(order.begin(), order.end(), [&](TensorId a, TensorId b) {
    return exact_bytes(program.tensor(a), program.ranks()) < exact_bytes(program.tensor(b), program.ranks());
  });
  int64_t left = exact_budget_bytes;
  for (const TensorId id : order) {
    left -= exact_bytes(program.tensor(id), program.ranks());
    if (left < 0) break;
    plan.details[static_cast<size_t>(id)].exact_elements = kExactElements;
    plan.exact += element_count(local_shape(program.tensor(id), program.ranks(), 0)) <= kExactElements;
  }
  return plan;
}

std::string why_not_exact(const SamplePlan& plan) {
  if (plan.exact == plan.sampled) return {};
  return fmt::format(
      "Exact values are kept of {} of {} tensors, the smallest first; of the others their pictures and "
      "statistics.",
      plan.exact, plan.sampled);
}

uint64_t hash_bytes(const void* data, size_t bytes) {
  // Four independent multiply-and-rotate streams over 8-byte words keep up with memory; the tail is one
  // padded word.
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15ull;  // 2^64 / golden ratio
  uint64_t lanes[4] = {1, 2, 3, 4};
  const auto* at = static_cast<const unsigned char*>(data);
  const auto mix = [](uint64_t lane, uint64_t word) {
    lane = (lane ^ word) * kMultiplier;
    return (lane << 29) | (lane >> 35);
  };
  size_t left = bytes;
  for (; left >= 32; left -= 32, at += 32) {
    uint64_t words[4];
    std::memcpy(words, at, 32);
    for (int i = 0; i < 4; ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  for (; left > 0;) {
    uint64_t word = 0;
    const size_t take = std::min<size_t>(left, 8);
    std::memcpy(&word, at, take);
    lanes[0] = mix(lanes[0], word);
    at += take;
    left -= take;
  }
  uint64_t hash = bytes;
  for (uint64_t lane : lanes) hash = mix(hash, lane);
  return hash ^ (hash >> 31);
}

}  // namespace shardlens
