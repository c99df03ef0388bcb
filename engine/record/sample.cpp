// Samples a piece in one pass over it, and plans how a Program's tensors share the budgets.
#include "engine/record/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/device/measure.h"
#include "engine/io/half.h"

namespace shardlens {
double element_of(DType dtype, const void* data, int64_t index) {
  const std::byte* const at = static_cast<const std::byte*>(data) + index * element_bytes(dtype);
  const auto read = [at]<typename T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  if (dtype == DType::Fp64) return read(double{});
  if (dtype == DType::Int32) return read(int32_t{});
  if (dtype == DType::Fp16) return half_to_float(read(uint16_t{}));
  if (dtype == DType::Bf16) return bfloat_to_float(read(uint16_t{}));
  return read(float{});
}

double TensorSample::value(int64_t row, int64_t col) const {
  return element_of(dtype, exact.data(), row * matrix.cols + col);
}

TensorSample make_sample(const Tensor& tensor, int ranks, int rank, const void* data,
                         const SampleDetail& detail) {
  TensorSample sample;
  sample.shape = local_shape(tensor, ranks, rank);
  sample.matrix = local_matrix_shape(tensor, ranks, rank);
  sample.dtype = tensor.dtype;
  const int64_t count = element_count(sample.shape);
  if (count > 0) {
    sample.picture.rows = static_cast<int>(std::min(sample.matrix.rows, detail.picture_extent));
    sample.picture.cols = static_cast<int>(std::min(sample.matrix.cols, detail.picture_extent));
    sample.picture.values.resize(static_cast<size_t>(sample.picture.rows) *
                                 static_cast<size_t>(sample.picture.cols));
  }
  const Measured measured = measure(tensor.dtype, data, sample.matrix.rows, sample.matrix.cols,
                                    sample.picture.rows, sample.picture.cols, sample.picture.values.data());
  measure_extent(sample.picture);
  sample.hash = measured.hash;
  sample.stats.count = count;
  sample.stats.nan_count = measured.not_finite;
  if (const int64_t good = count - measured.not_finite; good > 0) {
    sample.stats.min = measured.min;
    sample.stats.max = measured.max;
    sample.stats.mean = measured.sum / static_cast<double>(good);
    sample.stats.rms = std::sqrt(measured.squares / static_cast<double>(good));
  }
  if (count > 0 && count <= detail.exact_elements) {
    const size_t bytes = static_cast<size_t>(count * element_bytes(tensor.dtype));
    const auto* begin = static_cast<const std::byte*>(data);
    sample.exact.assign(begin, begin + bytes);
  }
  return sample;
}

Picture make_picture(const Tensor& tensor, int ranks, int rank, const void* data, int rows, int cols) {
  const MatrixShape matrix = local_matrix_shape(tensor, ranks, rank);
  if (matrix.rows * matrix.cols == 0) return {};
  Picture picture{rows, cols, std::vector<float>(static_cast<size_t>(rows) * static_cast<size_t>(cols)), {}};
  block_means(tensor.dtype, data, matrix.rows, matrix.cols, rows, cols, picture.values.data());
  measure_extent(picture);
  return picture;
}

// The cells are summed in fixed lanes, in the same order for every picture, so that the compiler can use
// vector instructions.
void measure_extent(Picture& picture) {
  constexpr size_t kLanes = 16;
  std::array<double, kLanes> squares{}, count{};
  std::array<float, kLanes> largest{};
  const auto take = [&](size_t lane, float value) {
    const float magnitude = std::abs(value);
    const bool finite = magnitude <= std::numeric_limits<float>::max();
    const float kept = finite ? magnitude : 0.0f;
    largest[lane] = std::max(largest[lane], kept);
    squares[lane] += static_cast<double>(kept) * static_cast<double>(kept);
    count[lane] += finite ? 1.0 : 0.0;
  };
  const size_t whole = picture.values.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) take(lane, picture.values[i + lane]);
  for (size_t i = whole; i < picture.values.size(); ++i) take(i - whole, picture.values[i]);
  PictureExtent extent;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    extent.largest = std::max(extent.largest, static_cast<double>(largest[lane]));
    extent.squares += squares[lane];
    extent.finite += static_cast<int64_t>(count[lane]);
  }
  picture.extent = extent;
}

namespace {

// The bytes of a tensor's exact values on all ranks. A Replicated tensor is kept once.
int64_t exact_bytes(const Tensor& tensor, int ranks) {
  return tensor.bytes() * (tensor.layout.kind == LayoutKind::Partial ? ranks : 1);
}

}  // namespace

int64_t picture_extent(const Program& program, int pictures_per_tensor, int64_t most, int64_t budget_bytes) {
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
  int64_t extent = most;
  while (extent > kLeastExtent && bytes_at(extent) > budget_bytes)
    extent = std::max(kLeastExtent, extent / 2);
  return extent;
}

SamplePlan plan_samples(const Program& program, int64_t exact_budget_bytes, int64_t picture_budget_bytes) {
  SamplePlan plan;
  const SampleDetail picture_only{picture_extent(program, program.tp(), kPictureExtent, picture_budget_bytes),
                                  0};
  plan.details.assign(program.tensors.size(), picture_only);
  std::vector<TensorId> order;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != MemoryKind::Workspace) order.push_back(tensor.id);
  }
  plan.sampled = static_cast<int64_t>(order.size());
  std::stable_sort(order.begin(), order.end(), [&](TensorId a, TensorId b) {
    return exact_bytes(program.tensor(a), program.tp()) < exact_bytes(program.tensor(b), program.tp());
  });
  int64_t left = exact_budget_bytes;
  for (const TensorId id : order) {
    left -= exact_bytes(program.tensor(id), program.tp());
    if (left < 0) break;
    plan.details[static_cast<size_t>(id)].exact_elements = kExactElements;
    plan.exact += element_count(local_shape(program.tensor(id), program.tp(), 0)) <= kExactElements;
  }
  return plan;
}

std::string why_not_exact(const SamplePlan& plan) {
  if (plan.exact == plan.sampled) return {};
  return fmt::format(
      "Exact values are kept of {} of {} tensors, the smallest first. The others keep only their pictures "
      "and statistics.",
      plan.exact, plan.sampled);
}

}  // namespace shardlens
