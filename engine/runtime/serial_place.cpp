// Reads the parts of a value's name that the planner writes (planner/builder.cpp, gradient_sums.cpp,
// overlap.cpp): "grad.mb1.h.0.mlp.fc.out", "grad.wte.part1@replica", "mlp.proj.sum.rows2".
#include "engine/runtime/serial_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace shardlens {
namespace {

constexpr std::string_view kGradient = "grad.", kPart = "mb", kOfReplica = "@replica", kTerm = "@partial";

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// `name` without `mark` and the digits behind it, if it ends with them.
std::string_view before_numbered(std::string_view name, std::string_view mark) {
  std::string_view rest = name;
  while (!rest.empty() && is_digit(rest.back())) rest.remove_suffix(1);
  if (!rest.ends_with(mark)) return name;
  rest.remove_suffix(mark.size());
  return rest;
}

std::string_view without_end(std::string_view name, std::string_view end) {
  if (name.ends_with(end)) name.remove_suffix(end.size());
  return name;
}

bool is_of_replica(const Tensor& tensor) {
  return tensor.value.ends_with(kOfReplica);
}

// A value's name around the number of its part of the batch: "grad." · 1 · "h.0.mlp.fc.out".
struct PartName {
  std::string_view before;
  int part = 0;
  std::string_view after;
};

PartName part_name(std::string_view value) {
  size_t at = 0;
  while (value.substr(at).starts_with(kGradient)) at += kGradient.size();
  PartName name{value.substr(0, at), 0, value.substr(at)};
  if (!name.after.starts_with(kPart)) return name;
  size_t end = kPart.size();
  int part = 0;
  for (; end < name.after.size() && is_digit(name.after[end]); ++end)
    part = 10 * part + (name.after[end] - '0');
  if (end == kPart.size() || end >= name.after.size() || name.after[end] != '.') return name;
  return {name.before, part, name.after.substr(end + 1)};
}

}  // namespace

std::vector<OnReplicas> on_replicas(const Program& program) {
  std::vector<OnReplicas> all(program.tensors.size(), OnReplicas::Same);
  if (program.dp() == 1) return all;
  for (const Tensor& tensor : program.tensors) {
    // The one input that no row of the batch belongs to is the loss scale.
    const bool is_same = tensor.kind == MemoryKind::Weight || tensor.kind == MemoryKind::WeightGradient ||
                         tensor.kind == MemoryKind::OptimizerState || tensor.role == Role::LossScale;
    all[static_cast<size_t>(tensor.id)] = is_of_replica(tensor) ? OnReplicas::Terms
                                          : is_same             ? OnReplicas::Same
                                                                : OnReplicas::Rows;
  }
  for (const Step& step : program.steps) {
    if (step.axis != Axis::Dp && step.phase != Phase::Update) continue;
    for (const TensorId out : step.outputs) all[static_cast<size_t>(out)] = OnReplicas::Same;
  }
  return all;
}

bool is_part_of_a_sum(const Program& program, const Tensor& tensor) {
  if (program.settings.micro_batches == 1 || !is_of_replica(tensor)) return false;
  const std::string_view value = without_end(without_end(tensor.value, kOfReplica), kTerm);
  return part_name(value).after.size() < value.size() - part_name(value).before.size() ||
         before_numbered(value, ".part") != value;
}

SerialPlace serial_place(const Program& program, const Tensor& tensor, OnReplicas of, int replica) {
  SerialPlace place;
  // Some rows of another tensor: that tensor's value.
  const Tensor* whole = &tensor;
  std::string_view value = tensor.value;
  while (whole->storage != kNoTensor && before_numbered(whole->value, ".rows") != whole->value) {
    place.first_row += whole->first_row;
    whole = &program.tensor(whole->storage);
    value = whole->value;
  }
  if (of == OnReplicas::Terms) value = without_end(without_end(value, kOfReplica), kTerm);
  place.value = value;
  if (of != OnReplicas::Rows) return place;
  // One rank runs as many parts as a replica, each with the rows of D parts here.
  const PartName name = part_name(value);
  const int here = replica * program.settings.micro_batches + name.part;
  const int part = here / program.dp();
  place.value = part > 0 ? fmt::format("{}{}{}.{}", name.before, kPart, part, name.after)
                         : fmt::format("{}{}", name.before, name.after);
  // In generation "last" holds numbers of rows, which every replica counts from its own first one.
  if (name.after != "last") place.first_row += here % program.dp() * whole->shape[0];
  return place;
}

}  // namespace shardlens
