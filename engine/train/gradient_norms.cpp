// Computes the square sums of the gradients' slices.
#include "engine/train/gradient_norms.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

namespace shardlens {
namespace {

template <typename T>
double square_sum(const void* data, int64_t count) {
  const T* values = static_cast<const T*>(data);
  constexpr int64_t kSums = 8;  // independent sums, so that none waits for the one before
  double sums[kSums] = {};
  const auto add = [&](int64_t i, int64_t to) {
    const double value = static_cast<double>(values[i]);
    sums[to] += value * value;
  };
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums)
    for (int64_t s = 0; s < kSums; ++s) add(i + s, s);
  for (; i < count; ++i) add(i, i % kSums);
  return std::accumulate(sums, sums + kSums, 0.0);
}

/// The group of a parameter: 0 before the layers, 1 + k in layer k, 1 + layers after them.
int group_of(const Program& program, TensorId weight, int layers) {
  bool behind = false;
  for (const Step& step : program.steps) {
    behind |= step.layer >= 0;
    for (const TensorId input : step.inputs) {
      if (input == weight) return step.layer >= 0 ? 1 + step.layer : behind ? 1 + layers : 0;
    }
  }
  return 0;
}

}  // namespace

std::vector<std::string> gradient_groups(const Program& program) {
  std::vector<std::string> groups{"embedding"};
  for (int64_t layer = 0; layer < program.settings.model.layers; ++layer)
    groups.push_back(fmt::format("layer {}", layer));
  groups.push_back("head");
  return groups;
}

GradientNorms::GradientNorms(const Program& program)
    : ranks_(program.ranks()),
      groups_(gradient_groups(program)),
      group_of_(program.tensors.size(), -1),
      square_sums_(static_cast<size_t>(ranks_), std::vector<double>(program.tensors.size(), 0)) {
  const auto layers = static_cast<int>(program.settings.model.layers);
  for (const Step& step : program.steps) {
    if (step.op != Op::AdamW) continue;
    group_of_[static_cast<size_t>(input_of(program, step, Operand::Gradient))] =
        group_of(program, input_of(program, step, Operand::Parameter), layers);
  }
}

void GradientNorms::on_tensor(int rank, StepId, const Tensor& tensor, const void* data) {
  const auto id = static_cast<size_t>(tensor.id);
  if (group_of_[id] < 0) return;
  const int holders = tensor.layout.kind == LayoutKind::Sharded ? tensor.layout.copies : ranks_;
  if (rank % holders != 0) return;  // what several ranks hold counts once
  const int64_t count = element_count(local_shape(tensor, ranks_, rank));
  square_sums_[static_cast<size_t>(rank)][id] =
      tensor.dtype == DType::Fp64 ? square_sum<double>(data, count) : square_sum<float>(data, count);
}

std::vector<double> GradientNorms::norms() const {
  std::vector<double> norms(groups_.size(), 0);
  for (const std::vector<double>& of_rank : square_sums_) {
    for (size_t id = 0; id < of_rank.size(); ++id) {
      if (group_of_[id] >= 0) norms[static_cast<size_t>(group_of_[id])] += of_rank[id];
    }
  }
  for (double& norm : norms) norm = std::sqrt(norm);
  return norms;
}

}  // namespace shardlens
