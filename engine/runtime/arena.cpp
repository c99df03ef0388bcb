// Arenas: planned offsets turned into addresses.
#include "engine/runtime/arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace shardlens {

Arenas::Arenas(Device& device, const Program& program, const MemoryPlan& plan, const Arenas* lender)
    : device_(device), program_(program), plan_(plan), borrows_(lender != nullptr) {
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
    throw std::logic_error(fmt::format("tensor {} lies outside its arena of {} bytes",
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
