// Liveness analysis and the offsets that follow from it.
#include "engine/planner/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace shardlens {
namespace {

constexpr int64_t kAlignment = 64;  // a cache line, and one AVX-512 register

int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Where a tensor begins in its storage: rows of a tensor are rows of every rank's piece of it.
int64_t row_offset(const Program& program, const Tensor& tensor, int rank) {
  int64_t offset = 0;
  for (const Tensor* at = &tensor; at->storage != kNoTensor; at = &program.tensor(at->storage)) {
    if (at->first_row == 0) continue;
    const Tensor& storage = program.tensor(at->storage);
    offset += at->first_row * (local_bytes(storage, program.ranks(), rank) / storage.shape[0]);
  }
  return offset;
}

}  // namespace

int64_t total_bytes(const BytesByKind& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

TensorId storage_of(const Program& program, TensorId tensor) {
  while (program.tensor(tensor).storage != kNoTensor) tensor = program.tensor(tensor).storage;
  return tensor;
}

MemoryPlan plan_memory(const Program& program, int rank) {
  const size_t tensors = program.tensors.size();
  const StepId end = static_cast<StepId>(program.steps.size());
  MemoryPlan plan;
  plan.offset.assign(tensors, 0);
  plan.bytes.assign(tensors, 0);
  plan.first_step.assign(tensors, -1);
  plan.last_step.assign(tensors, -1);
  plan.live_bytes.assign(program.steps.size(), BytesByKind{});

  const auto touch = [&](TensorId id, StepId step) {
    const auto storage = static_cast<size_t>(storage_of(program, id));
    plan.last_step[storage] = std::max(plan.last_step[storage], step);
  };
  const auto is_there_before = [&](MemoryKind kind) {
    return kind == MemoryKind::Weight || kind == MemoryKind::Input || kind == MemoryKind::OptimizerState ||
           kind == MemoryKind::KeyValueCache;
  };
  for (const Step& step : program.steps) {
    for (TensorId id : step.outputs) {
      const TensorId storage = storage_of(program, id);
      StepId& first = plan.first_step[static_cast<size_t>(storage)];
      if (first < 0 && !is_there_before(program.tensor(storage).kind)) first = step.id;
      touch(id, step.id);
    }
    for (TensorId id : step.inputs) touch(id, step.id);
  }
  std::vector<TensorId> order;
  for (const Tensor& tensor : program.tensors) {
    const bool stays =
        tensor.keep || tensor.kind == MemoryKind::WeightGradient || is_there_before(tensor.kind);
    if (stays) touch(tensor.id, end);
    if (tensor.storage != kNoTensor) continue;
    plan.bytes[static_cast<size_t>(tensor.id)] = local_bytes(tensor, program.ranks(), rank);
    order.push_back(tensor.id);
  }

  // Largest first, each at the lowest offset that no tensor living at the same time covers.
  std::stable_sort(order.begin(), order.end(), [&](TensorId a, TensorId b) {
    return plan.bytes[static_cast<size_t>(a)] > plan.bytes[static_cast<size_t>(b)];
  });
  std::vector<TensorId> placed;
  for (TensorId id : order) {
    const auto i = static_cast<size_t>(id);
    const MemoryKind kind = program.tensor(id).kind;
    std::vector<Range> taken;
    for (TensorId other : placed) {
      const auto o = static_cast<size_t>(other);
      const bool together =
          plan.first_step[o] <= plan.last_step[i] && plan.first_step[i] <= plan.last_step[o];
      if (program.tensor(other).kind == kind && together) {
        taken.push_back({plan.offset[o], plan.offset[o] + aligned(plan.bytes[o])});
      }
    }
    std::sort(taken.begin(), taken.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    int64_t offset = 0;
    for (const Range& range : taken) {
      if (offset + plan.bytes[i] <= range.begin) break;
      offset = std::max(offset, range.end);
    }
    plan.offset[i] = offset;
    int64_t& arena = plan.arena_bytes[static_cast<size_t>(kind)];
    arena = std::max(arena, offset + plan.bytes[i]);
    placed.push_back(id);
    for (StepId s = std::max(plan.first_step[i], 0); s <= std::min(plan.last_step[i], end - 1); ++s) {
      plan.live_bytes[static_cast<size_t>(s)][static_cast<size_t>(kind)] += plan.bytes[i];
    }
  }
  for (const Tensor& tensor : program.tensors) {
    const auto i = static_cast<size_t>(tensor.id);
    const auto s = static_cast<size_t>(storage_of(program, tensor.id));
    if (s == i) continue;
    plan.offset[i] = plan.offset[s] + row_offset(program, tensor, rank);
    plan.first_step[i] = plan.first_step[s];
    plan.last_step[i] = plan.last_step[s];
  }
  return plan;
}

}  // namespace shardlens
