// Turns planned offsets into addresses.
#include "engine/runtime/arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace shardlens {
namespace {

// True for a weight that is only B of products with X: no step writes it or reads it in another way, and no
// tensor is a part of it.
bool is_multiplied_alone(const Program& program, TensorId tensor) {
  const Tensor& weight = program.tensor(tensor);
  if (weight.kind != MemoryKind::Weight || weight.storage != kNoTensor) return false;
  const auto is_view = [&](const Tensor& other) { return other.storage == tensor; };
  if (std::any_of(program.tensors.begin(), program.tensors.end(), is_view)) return false;
  bool multiplied = false;
  for (const Step& step : program.steps) {
    if (std::find(step.outputs.begin(), step.outputs.end(), tensor) != step.outputs.end()) return false;
    const auto reads = std::count(step.inputs.begin(), step.inputs.end(), tensor);
    if (reads == 0) continue;
    const bool multiplies = step.op == Op::Linear && input_of(program, step, Operand::Weight) == tensor;
    if (!multiplies || reads > 1 || step.attributes.transposed) return false;
    multiplied = true;
  }
  return multiplied;
}

}  // namespace

Arenas::Arenas(Device& device, const Program& program, const MemoryPlan& plan, const Arenas* lender)
    : device_(device),
      program_(program),
      plan_(plan),
      panel_cols_(program.tensors.size()),
      borrows_(lender != nullptr) {
  if (program.settings.cache_tokens > 0)
    for (const Tensor& tensor : program.tensors)
      if (is_multiplied_alone(program, tensor.id))
        panel_cols_[static_cast<size_t>(tensor.id)] = device.panel_cols();
  try {
    for (size_t kind = 0; kind < base_.size(); ++kind) {
      if (borrows_ && is_lent(static_cast<MemoryKind>(kind)))
        base_[kind] = lender->base_[kind];
      else if (plan.arena_bytes[kind] > 0)
        base_[kind] = device.allocate(static_cast<size_t>(plan.arena_bytes[kind]));
    }
  } catch (...) {
    release();
    throw;
  }
}

Arenas::~Arenas() {
  release();
}

void Arenas::release() {
  for (size_t kind = 0; kind < base_.size(); ++kind)
    if (!borrows_ || !is_lent(static_cast<MemoryKind>(kind))) device_.release(base_[kind]);
}

void* Arenas::at(TensorId tensor) {
  const TensorId storage = storage_of(program_, tensor);
  const auto i = static_cast<size_t>(storage);
  const auto kind = static_cast<size_t>(plan_.arena[i]);
  const int64_t end = plan_.offset[i] + plan_.bytes[i];
  if (end > plan_.arena_bytes[kind]) {
    throw std::logic_error(fmt::format("tensor {} is outside its arena of {} bytes",
                                       program_.tensor(tensor).name, plan_.arena_bytes[kind]));
  }
  int64_t highest = high_water_bytes_[kind].load(std::memory_order_relaxed);
  while (highest < end && !high_water_bytes_[kind].compare_exchange_weak(highest, end)) {
  }
  if (plan_.bytes[i] == 0) return nullptr;
  return static_cast<char*>(base_[kind]) + plan_.offset[static_cast<size_t>(tensor)];
}

BytesByKind Arenas::high_water_bytes() const {
  BytesByKind bytes{};
  for (size_t kind = 0; kind < bytes.size(); ++kind) bytes[kind] = high_water_bytes_[kind].load();
  return bytes;
}

}  // namespace shardlens
