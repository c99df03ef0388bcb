// Computes when each tensor is alive, and from that where it is placed.
#include "engine/planner/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include "engine/base/units.h"
#include "engine/planner/taken_bytes.h"
#include "engine/program/joined_steps.h"

namespace shardlens {
namespace {

constexpr int64_t kAlignment = 64;  // a cache line, and one AVX-512 register

int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// The offset of a tensor in its storage. Rows of a tensor are rows of every rank's slice of it.
int64_t row_offset(const Program& program, const Tensor& tensor, int rank) {
  int64_t offset = 0;
  for (const Tensor* at = &tensor; at->storage != kNoTensor; at = &program.tensor(at->storage)) {
    if (at->first_row == 0) continue;
    const Tensor& storage = program.tensor(at->storage);
    offset += at->first_row * (local_bytes(storage, program.tp(), rank) / storage.shape[0]);
  }
  return offset;
}

bool is_there_before(MemoryKind kind) {
  return kind == MemoryKind::Weight || kind == MemoryKind::Input || kind == MemoryKind::OptimizerState ||
         kind == MemoryKind::KeyValueCache;
}

// Finds the first and last step of every tensor that has its own bytes.
void find_lifetimes(const Program& program, MemoryPlan& plan) {
  const auto touch = [&](TensorId id, StepId step) {
    const auto storage = static_cast<size_t>(storage_of(program, id));
    plan.last_step[storage] = std::max(plan.last_step[storage], step);
  };
  // A GPU may do joined steps at once, so none of them may write over what another one uses.
  const bool joins = program.settings.backend == BackendChoice::Cuda;
  for (const Step& step : program.steps) {
    const StepId last = joins ? last_joined(program, step) : step.id;
    for (TensorId id : step.outputs) {
      const TensorId storage = storage_of(program, id);
      StepId& first = plan.first_step[static_cast<size_t>(storage)];
      if (first < 0 && !is_there_before(program.tensor(storage).kind)) first = step.id;
      touch(id, last);
    }
    for (TensorId id : step.inputs) touch(id, last);
  }
  for (const Tensor& tensor : program.tensors) {
    const bool stays =
        tensor.keep || tensor.kind == MemoryKind::WeightGradient || is_there_before(tensor.kind);
    if (stays) touch(tensor.id, static_cast<StepId>(program.steps.size()));
  }
}

// A range of an arena in which tensors are placed: the whole arena, or one layer's part of the weight
// gradients.
struct Room {
  explicit Room(const Program& program) : taken(static_cast<StepId>(program.steps.size())) {}

  MemoryKind arena = MemoryKind::Activation;
  int64_t begin = 0;  // in the arena
  int64_t bytes = 0;
  TakenBytes taken;
};

class Placer {
 public:
  Placer(const Program& program, MemoryPlan& plan)
      : program_(program), plan_(plan), arenas_(kMemoryKinds, Room(program)) {
    for (int kind = 0; kind < kMemoryKinds; ++kind)
      arenas_[static_cast<size_t>(kind)].arena = static_cast<MemoryKind>(kind);
  }

  void run() {
    std::vector<TensorId> order;
    for (const Tensor& tensor : program_.tensors)
      if (tensor.storage == kNoTensor) order.push_back(tensor.id);
    // Each tensor gets the lowest offset that no tensor alive at the same time covers, the largest tensor
    // first. Tensors that are always alive keep the order in which they are read, so that a prefetch of the
    // following bytes loads the next one.
    const auto key = [&](TensorId id) {
      return is_there_before(program_.tensor(id).kind) ? 0 : bytes_of(id);
    };
    std::stable_sort(order.begin(), order.end(), [&](TensorId a, TensorId b) { return key(a) > key(b); });
    std::array<std::vector<TensorId>, kMemoryKinds> of_kind;
    const auto all_of = [&](MemoryKind kind) -> std::vector<TensorId>& {
      return of_kind[static_cast<size_t>(kind)];
    };
    for (TensorId id : order) all_of(program_.tensor(id).kind).push_back(id);
    lay_out_gradients(all_of(MemoryKind::WeightGradient));
    all_of(MemoryKind::WeightGradient).clear();
    std::vector<TensorId>& activations = all_of(MemoryKind::Activation);
    std::erase_if(activations, [this](TensorId id) { return borrow_below(id); });
    // Activation gradients are short-lived. They borrow from the ends before the remaining activations do, so
    // that they take the same bytes for any number of layers.
    std::erase_if(all_of(MemoryKind::ActivationGradient), [this](TensorId id) { return borrow_at_ends(id); });
    std::erase_if(activations, [this](TensorId id) {
      const int layer = layer_of(id);  // layer 0 already tried the ends in borrow_below()
      return layer > 0 && layer < kLowestLayers && borrow_at_ends(id);
    });
    for (size_t kind = 0; kind < of_kind.size(); ++kind)
      for (TensorId id : of_kind[kind]) place_in_own(id, arenas_[kind]);
    for (const Room& arena : arenas_) plan_.arena_bytes[static_cast<size_t>(arena.arena)] = arena.bytes;
  }

 private:
  int64_t bytes_of(TensorId id) const { return plan_.bytes[static_cast<size_t>(id)]; }

  // The layer of the step that first writes the tensor; -1 outside the layers.
  int layer_of(TensorId id) const {
    const StepId first = plan_.first_step[static_cast<size_t>(id)];
    return first < 0 ? -1 : program_.step(first).layer;
  }

  // The lowest offset in the room at which the tensor overlaps no tensor that is alive at the same time.
  int64_t lowest_offset(TensorId id, const Room& room) const {
    const auto i = static_cast<size_t>(id);
    return room.taken.lowest_free(room.begin, plan_.bytes[i], plan_.first_step[i], plan_.last_step[i]);
  }

  void place(TensorId id, Room& room, int64_t offset) {
    const auto i = static_cast<size_t>(id);
    plan_.arena[i] = room.arena;
    plan_.offset[i] = offset;
    room.taken.take({offset, offset + aligned(plan_.bytes[i])}, plan_.first_step[i], plan_.last_step[i]);
  }

  void place_in_own(TensorId id, Room& room) {
    const int64_t offset = lowest_offset(id, room);
    place(id, room, offset);
    room.bytes = std::max(room.bytes, offset + bytes_of(id));
  }

  bool place_if_it_fits(TensorId id, Room& room) {
    const int64_t offset = lowest_offset(id, room);
    if (offset + bytes_of(id) > room.begin + room.bytes) return false;
    place(id, room, offset);
    return true;
  }

  // Places the gradients layer by layer, one behind the other. They live to the end, so none shares bytes
  // with another.
  void lay_out_gradients(const std::vector<TensorId>& gradients) {
    Room& arena = arenas_[static_cast<size_t>(MemoryKind::WeightGradient)];
    std::map<int, std::vector<TensorId>> by_layer;
    for (TensorId id : gradients) by_layer[layer_of(id)].push_back(id);
    for (const auto& [layer, of_layer] : by_layer) {
      Room& room = layers_.emplace(layer, program_).first->second;
      room.arena = arena.arena;
      room.begin = aligned(arena.bytes);
      for (TensorId id : of_layer) {
        place(id, room, room.begin + aligned(room.bytes));
        room.bytes = aligned(room.bytes) + bytes_of(id);
      }
      arena.bytes = room.begin + room.bytes;
    }
  }

  // Borrows bytes of weight gradients that are written later. The activations of a layer use those of the
  // layer below, those of the lowest layer use the ends, and those of the ends use the highest layer.
  bool borrow_below(TensorId id) {
    const auto own = layers_.find(layer_of(id));
    if (own == layers_.end()) return false;
    return place_if_it_fits(id, own == layers_.begin() ? layers_.rbegin()->second : std::prev(own)->second);
  }

  // Borrows from the ends, which hold the embedding's gradient. It is written last.
  bool borrow_at_ends(TensorId id) {
    return layers_.count(layer_of(id)) > 0 && place_if_it_fits(id, layers_.begin()->second);
  }

  const Program& program_;
  MemoryPlan& plan_;
  std::vector<Room> arenas_;    // by kind
  std::map<int, Room> layers_;  // in the gradients' arena: outside the layers (-1), then layer by layer
};

// Counts the bytes that are held while each step runs, and how many of them are in other kinds' arenas. Notes
// first by how much they grow and shrink at each step, and then adds up.
void count_live_bytes(const Program& program, MemoryPlan& plan) {
  const auto end = static_cast<StepId>(program.steps.size());
  std::vector<BytesByKind> borrowed(program.steps.size(), BytesByKind{});
  for (const Tensor& tensor : program.tensors) {
    const auto i = static_cast<size_t>(tensor.id);
    const auto kind = static_cast<size_t>(tensor.kind);
    const StepId first = std::max(plan.first_step[i], 0), after = std::min(plan.last_step[i], end - 1) + 1;
    if (tensor.storage != kNoTensor || first >= after) continue;
    const auto hold = [&](std::vector<BytesByKind>& held) {
      held[static_cast<size_t>(first)][kind] += plan.bytes[i];
      if (after < end) held[static_cast<size_t>(after)][kind] -= plan.bytes[i];
    };
    hold(plan.live_bytes);
    if (plan.arena[i] != tensor.kind) hold(borrowed);
  }
  for (std::vector<BytesByKind>* held : {&plan.live_bytes, &borrowed})
    for (size_t step = 1; step < held->size(); ++step)
      for (size_t kind = 0; kind < kMemoryKinds; ++kind) (*held)[step][kind] += (*held)[step - 1][kind];
  for (size_t step = 0; step < borrowed.size(); ++step)
    for (size_t kind = 0; kind < kMemoryKinds; ++kind) {
      if (plan.live_bytes[step][kind] <= plan.held_bytes[kind]) continue;
      plan.held_bytes[kind] = plan.live_bytes[step][kind];
      plan.borrowed_bytes[kind] = borrowed[step][kind];
    }
}

}  // namespace

int64_t total_bytes(const BytesByKind& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

std::string explain_borrowing(const MemoryPlan& plan) {
  std::string what;
  for (const MemoryKind kind : {MemoryKind::Activation, MemoryKind::ActivationGradient}) {
    const auto of_kind = static_cast<size_t>(kind);
    const auto held = static_cast<double>(plan.held_bytes[of_kind]),
               borrowed = static_cast<double>(plan.borrowed_bytes[of_kind]);
    if (borrowed == 0) continue;
    what += fmt::format("{}{} of up to {} of {}", what.empty() ? "" : " and ", bytes_text(borrowed),
                        bytes_text(held), to_string(kind));
  }
  if (what.empty()) return what;
  return what + " lie in the memory of weight gradients, which are computed later. It is counted as theirs.";
}

TensorId storage_of(const Program& program, TensorId tensor) {
  while (program.tensor(tensor).storage != kNoTensor) tensor = program.tensor(tensor).storage;
  return tensor;
}

MemoryPlan plan_memory(const Program& program, int rank) {
  const size_t tensors = program.tensors.size();
  MemoryPlan plan;
  plan.arena.assign(tensors, MemoryKind::Activation);
  plan.offset.assign(tensors, 0);
  plan.bytes.assign(tensors, 0);
  plan.first_step.assign(tensors, -1);
  plan.last_step.assign(tensors, -1);
  plan.live_bytes.assign(program.steps.size(), BytesByKind{});
  find_lifetimes(program, plan);
  for (const Tensor& tensor : program.tensors)
    if (tensor.storage == kNoTensor)
      plan.bytes[static_cast<size_t>(tensor.id)] = local_bytes(tensor, program.tp(), rank);
  Placer(program, plan).run();
  count_live_bytes(program, plan);
  for (const Tensor& tensor : program.tensors) {
    const auto i = static_cast<size_t>(tensor.id);
    const auto s = static_cast<size_t>(storage_of(program, tensor.id));
    if (s == i) continue;
    plan.arena[i] = plan.arena[s];
    plan.offset[i] = plan.offset[s] + row_offset(program, tensor, rank);
    plan.first_step[i] = plan.first_step[s];
    plan.last_step[i] = plan.last_step[s];
  }
  return plan;
}

}  // namespace shardlens
