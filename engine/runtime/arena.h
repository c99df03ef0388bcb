// One rank's memory: an arena per MemoryKind, allocated once in the planner's sizes. It remembers the highest
// byte that was really handed out, so planned and measured memory speak of the same thing.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "engine/device/device.h"
#include "engine/planner/memory_plan.h"

namespace shardlens {

class Arenas {
 public:
  /// Allocates the plan's arenas on `device`; throws a run Error when the memory is not there. What is_lent()
  /// says comes from `lender` where there is one, whose plan of it is the same and which outlives this.
  Arenas(Device& device, const Program& program, const MemoryPlan& plan, const Arenas* lender = nullptr);
  ~Arenas();
  Arenas(const Arenas&) = delete;
  Arenas& operator=(const Arenas&) = delete;

  /// True for what Programs over the same model share: weights, and keys and values.
  static bool is_lent(MemoryKind kind) {
    return kind == MemoryKind::Weight || kind == MemoryKind::KeyValueCache;
  }

  /// The bytes of `tensor`, wherever the plan put them. Null for an empty shard. Any thread.
  void* at(TensorId tensor);
  /// How wide the panels are in which they lie there (Gemm::b_panel_cols); 0: row-major. Weights lie in
  /// panels where a text is written, token after token, if the device likes that and nothing but gemm() reads
  /// them.
  int64_t panel_cols(TensorId tensor) const { return panel_cols_[static_cast<size_t>(tensor)]; }
  /// Most bytes handed out so far, per kind.
  BytesByKind high_water_bytes() const;

 private:
  void release();

  Device& device_;
  const Program& program_;
  const MemoryPlan& plan_;
  std::array<void*, kMemoryKinds> base_{};
  std::vector<int64_t> panel_cols_;  ///< [tensor]
  bool borrows_;                     ///< what is lent belongs to another
  std::array<std::atomic<int64_t>, kMemoryKinds> high_water_bytes_{};
};

}  // namespace shardlens
