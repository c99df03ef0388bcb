// One rank's memory: an arena for each MemoryKind, allocated once with the planner's sizes. It records the
// highest byte that was really used, so planned and measured memory can be compared.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "engine/device/device.h"
#include "engine/planner/memory_plan.h"

namespace shardlens {

class Arenas {
 public:
  /// Allocates the plan's arenas on `device`; throws a run Error if there is not enough memory. With a
  /// `lender`, the kinds for which is_lent() is true are the lender's: it must plan them in the same way and
  /// outlive this.
  Arenas(Device& device, const Program& program, const MemoryPlan& plan, const Arenas* lender = nullptr);
  ~Arenas();
  Arenas(const Arenas&) = delete;
  Arenas& operator=(const Arenas&) = delete;

  /// True for what Programs over the same model share: weights, keys and values.
  static bool is_lent(MemoryKind kind) {
    return kind == MemoryKind::Weight || kind == MemoryKind::KeyValueCache;
  }

  /// The address of `tensor`'s bytes. Null for an empty shard. Any thread.
  void* at(TensorId tensor);
  /// The width of the panels in which the tensor is stored (Gemm::b_panel_cols); 0: row-major. Weights are
  /// stored in panels if tokens are generated one after the other, the device prefers panels, and only gemm()
  /// reads them.
  int64_t panel_cols(TensorId tensor) const { return panel_cols_[static_cast<size_t>(tensor)]; }
  /// The most bytes used so far, for each kind.
  BytesByKind high_water_bytes() const;

 private:
  void release();

  Device& device_;
  const Program& program_;
  const MemoryPlan& plan_;
  std::array<void*, kMemoryKinds> base_{};
  std::vector<int64_t> panel_cols_;  ///< [tensor]
  bool borrows_;                     ///< the lent kinds belong to another Arenas
  std::array<std::atomic<int64_t>, kMemoryKinds> high_water_bytes_{};
};

}  // namespace shardlens
