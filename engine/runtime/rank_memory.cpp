// Feeds and copies a rank's tensors: in place where the host can, else through the staging room.
#include "engine/runtime/rank_memory.h"

#include <algorithm>
#include <memory>

#include "engine/base/clock.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {
namespace {

// True for tensors that exist before step 0 and last from pass to pass; an optimizer changes them, and new
// tokens change a cache.
bool is_lasting(const Tensor& tensor) {
  const bool lasts = tensor.kind == MemoryKind::Weight || tensor.kind == MemoryKind::OptimizerState ||
                     tensor.kind == MemoryKind::KeyValueCache;
  return lasts && tensor.storage == kNoTensor;
}

bool is_input(const Tensor& tensor) {
  return tensor.kind == MemoryKind::Input && tensor.storage == kNoTensor;
}

}  // namespace

RankMemory::RankMemory(const Plan& plan, const Feed& feed, Device& device, Owner owner, const Arenas* lent)
    : program_(plan.program),
      feed_(feed),
      device_(device),
      owner_(owner),
      arenas_(device, plan.program, plan.memory[static_cast<size_t>(owner.rank)], lent) {}

void RankMemory::make_staging_room() {
  size_t largest = 0;
  for (const Tensor& tensor : program_.tensors)
    if (is_staged(tensor)) largest = std::max(largest, slice_bytes(tensor));
  staging_.resize(largest);
}

void RankMemory::feed_lasting(bool lent) {
  const auto is_fed = [&](const Tensor& tensor) {
    return is_lasting(tensor) && (lent || !Arenas::is_lent(tensor.kind));
  };
  for (const Tensor& tensor : program_.tensors) {
    if (!is_fed(tensor)) continue;
    if (feed_.is_zero(tensor)) {
      void* const data = arenas_.at(tensor.id);
      if (data != nullptr) device_.set_zero(data, slice_bytes(tensor));
    } else if (const Tensor* const weight = feed_.weight_of(tensor)) {
      feed_master(tensor, is_fed(*weight) ? weight : nullptr);
    } else if (feed_.master_of(tensor) == nullptr) {  // else it is fed with its master
      fill_tensor(tensor, [&](void* data) { feed_.fill(tensor, owner_.rank, owner_.threads, data); });
    }
  }
}

// Feeds the fp32 copy of a 16-bit weight, and the weight: the values are drawn or read once for both.
// `weight` may be null.
void RankMemory::feed_master(const Tensor& master, const Tensor* weight) {
  fill_tensor(master, [&](void* wide) {
    feed_.fill(master, owner_.rank, owner_.threads, wide);
    if (weight == nullptr) return;
    const auto round = [&](void* data) {
      feed_.round_master(*weight, owner_.rank, owner_.threads, wide, data);
    };
    if (!is_staged(*weight)) return round(arenas_.at(weight->id));
    // The staging room may hold the copy.
    const auto own = std::make_unique_for_overwrite<std::byte[]>(slice_bytes(*weight));
    round(own.get());
    put(*weight, own.get());
  });
}

void RankMemory::feed_shared_inputs() {
  for (const Tensor& tensor : program_.tensors) {
    if (is_input(tensor) && program_.settings.block != Block::Model)
      fill_tensor(tensor, [&](void* data) { feed_.fill(tensor, owner_.rank, owner_.threads, data); });
  }
}

void RankMemory::feed_pass_inputs(const PassInputs& inputs) {
  if (program_.settings.block != Block::Model) return;
  if (!device_.host_visible()) return feed_staged_inputs(inputs);
  for (const Tensor& tensor : program_.tensors)
    if (is_input(tensor)) feed_.fill_input(tensor, inputs, owner_.replica, arenas_.at(tensor.id));
}

// The inputs are all that lies in their arena, so a copy of the arena's bytes feeds all of them: each copy
// costs the host several calls before the first step of a pass.
void RankMemory::feed_staged_inputs(const PassInputs& inputs) {
  std::byte *first = nullptr, *end = nullptr;
  for (const Tensor& tensor : program_.tensors) {
    auto* const data = is_input(tensor) ? static_cast<std::byte*>(arenas_.at(tensor.id)) : nullptr;
    if (data == nullptr) continue;
    if (first == nullptr || data < first) first = data;
    end = std::max(end, data + slice_bytes(tensor));
  }
  if (first == nullptr) return;
  inputs_.resize(static_cast<size_t>(end - first));
  for (const Tensor& tensor : program_.tensors) {
    auto* const data = is_input(tensor) ? static_cast<std::byte*>(arenas_.at(tensor.id)) : nullptr;
    if (data != nullptr) feed_.fill_input(tensor, inputs, owner_.replica, inputs_.data() + (data - first));
  }
  device_.copy_to_device(first, inputs_.data(), inputs_.size());
}

// What the device still has to do is no part of the copy's time: it would have taken that long anyway. From
// then on the device stands still until the rank asks for the next step.
RankMemory::HostCopy RankMemory::host_copy(const Tensor& tensor) {
  const void* data = arenas_.at(tensor.id);
  if (data == nullptr || !is_staged(tensor)) return {data, 0};
  device_.synchronize();
  const double begin = now_seconds();
  fetch(tensor, staging_.data());
  return {staging_.data(), now_seconds() - begin};
}

// Lets `fill` write the tensor's bytes, in place or in the staging room from which they are copied to the
// device.
template <typename Fill>
void RankMemory::fill_tensor(const Tensor& tensor, const Fill& fill) {
  void* const data = arenas_.at(tensor.id);
  if (data == nullptr || !is_staged(tensor)) return fill(data);
  fill(staging_.data());
  put(tensor, staging_.data());
}

// True if the host cannot read or write the tensor in place: it is in device memory or stored in panels.
bool RankMemory::is_staged(const Tensor& tensor) const {
  return !device_.host_visible() || arenas_.panel_cols(tensor.id) > 0;
}

Panels RankMemory::panels(const Tensor& tensor) const {
  const MatrixShape own = local_matrix_shape(tensor, program_.tp(), owner_.rank);
  return {own.rows, own.cols, arenas_.panel_cols(tensor.id)};
}

void RankMemory::fetch(const Tensor& tensor, void* host) {
  const void* const data = arenas_.at(tensor.id);
  const Panels own = panels(tensor);
  if (own) return out_of_panels(own, element_bytes(tensor.dtype), {0, own.cols}, data, host);
  device_.copy_to_host(host, data, slice_bytes(tensor));
}

void RankMemory::put(const Tensor& tensor, const void* host) {
  void* const data = arenas_.at(tensor.id);
  const Panels own = panels(tensor);
  if (own) return into_panels(own, element_bytes(tensor.dtype), host, data);
  device_.copy_to_device(data, host, slice_bytes(tensor));
}

size_t RankMemory::slice_bytes(const Tensor& tensor) const {
  return static_cast<size_t>(local_bytes(tensor, program_.tp(), owner_.rank));
}

}  // namespace shardlens
