// Finds the reason for each tensor that was not compared.
#include "engine/runtime/coverage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/counted.h"
#include "engine/runtime/serial_place.h"

namespace shardlens {
namespace {

constexpr size_t kMostNamed = 4;  // tensors of a group

}  // namespace

std::string to_string(LeftOut reason) {
  switch (reason) {
    case LeftOut::Scratch:
      return "scratch space of a step";
    case LeftOut::Kept:
      return "optimizer state and caches that no step shows";
    case LeftOut::ByRows:
      return "other names of rows that are compared";
    case LeftOut::PartOfASum:
      return "a replica's sums over some parts of the batch; one rank adds up other rows";
    case LeftOut::Unmatched:
      break;
  }
  return "values that the other run does not have";
}

std::vector<std::optional<LeftOut>> reasons_to_leave_out(const Program& program) {
  std::vector<bool> is_shown(program.tensors.size(), false);
  for (const Step& step : program.steps)
    for (const TensorId out : step.outputs) is_shown[static_cast<size_t>(out)] = true;
  std::vector<std::optional<LeftOut>> reasons;
  for (const Tensor& tensor : program.tensors) {
    const bool is_fed = tensor.kind == MemoryKind::Input || tensor.kind == MemoryKind::Weight;
    std::optional<LeftOut> reason;
    if (tensor.kind == MemoryKind::Workspace)
      reason = LeftOut::Scratch;
    else if (is_shown[static_cast<size_t>(tensor.id)] || (is_fed && tensor.storage == kNoTensor))
      reason = is_part_of_a_sum(program, tensor) ? std::optional(LeftOut::PartOfASum) : std::nullopt;
    else if (tensor.kind == MemoryKind::OptimizerState || tensor.kind == MemoryKind::KeyValueCache)
      reason = LeftOut::Kept;
    else
      reason = LeftOut::ByRows;
    reasons.push_back(reason);
  }
  return reasons;
}

int64_t Coverage::left_out_count() const {
  int64_t count = 0;
  for (const LeftOutGroup& group : left_out) count += static_cast<int64_t>(group.tensors.size());
  return count;
}

Coverage coverage_of(const Program& program, const ParityTable& parity) {
  const std::vector<std::optional<LeftOut>> reasons = reasons_to_leave_out(program);
  Coverage coverage;
  for (const Tensor& tensor : program.tensors) {
    const auto id = static_cast<size_t>(tensor.id);
    if (id < parity.size() && parity[id]) {
      ++coverage.compared;
      continue;
    }
    const LeftOut reason = reasons[id].value_or(LeftOut::Unmatched);
    auto group = std::ranges::find(coverage.left_out, reason, &LeftOutGroup::reason);
    if (group == coverage.left_out.end()) group = coverage.left_out.insert(group, LeftOutGroup{reason, {}});
    group->tensors.push_back(tensor.id);
  }
  std::ranges::sort(coverage.left_out, {}, &LeftOutGroup::reason);
  return coverage;
}

std::string place_words(int replica, int rank) {
  if (replica < 0) return {};
  return rank < 0 ? fmt::format("the sum over the ranks of replica {}", replica)
                  : fmt::format("rank {} of replica {}", rank, replica);
}

std::string compared_words(const Coverage& coverage) {
  return fmt::format("{} of {}", coverage.compared, counted(coverage.tensors(), "tensor"));
}

std::vector<std::string> left_out_lines(const Program& program, const Coverage& coverage) {
  std::vector<std::string> lines;
  for (const LeftOutGroup& group : coverage.left_out) {
    std::vector<std::string> names;
    if (group.reason == LeftOut::Unmatched && group.tensors.size() <= kMostNamed)
      for (const TensorId id : group.tensors) names.push_back(program.tensor(id).name);
    lines.push_back(fmt::format("{} left out: {}{}", group.tensors.size(), to_string(group.reason),
                                names.empty() ? "" : fmt::format(" ({})", fmt::join(names, ", "))));
  }
  return lines;
}

}  // namespace shardlens
