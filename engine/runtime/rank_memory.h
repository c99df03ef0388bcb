// One rank's memory: its arenas, and a staging room for tensors that the host cannot use in place. It feeds
// what a pass begins with, and copies tensors to and from the host.
#pragma once

#include <vector>

#include "engine/device/panels.h"
#include "engine/runtime/arena.h"
#include "engine/runtime/feed.h"

namespace shardlens {

struct Plan;

/// Takes no lock. Calls come from the rank's own thread, or from another one while the rank stands still.
class RankMemory {
 public:
  /// The rank that the memory belongs to.
  struct Owner {
    int rank = 0;     ///< among the T of its replica
    int replica = 0;  ///< among the D
    int threads = 1;  ///< how many it may compute with
  };
  /// Allocates the arenas on `device`. `lent`: another team's memory, which Arenas takes as its lender; may
  /// be null. The references must outlive this.
  RankMemory(const Plan& plan, const Feed& feed, Device& device, Owner owner, const Arenas* lent);

  /// Makes the staging room, with room for any tensor that needs it. Call it before all methods below.
  void make_staging_room();

  /// Feeds the tensors that last, with their values before the first step; without `lent` it leaves out what
  /// another team's memory holds.
  void feed_lasting(bool lent);
  /// Feeds the inputs that every pass shares; does nothing for a whole model.
  void feed_shared_inputs();
  /// Feeds a whole model's inputs for one pass, by one copy if they are staged; does nothing otherwise.
  void feed_pass_inputs(const PassInputs& inputs);

  struct HostCopy {
    const void* data = nullptr;
    double seconds = 0;  ///< that the copy took, after the device had done all work before it; 0: in place
  };
  /// Returns the tensor's bytes where the host can read them: in place, or fetched into the staging room.
  HostCopy host_copy(const Tensor& tensor);
  /// Copies the rank's slice of a tensor out of the memory, or into it.
  void fetch(const Tensor& tensor, void* host);
  void put(const Tensor& tensor, const void* host);

  Arenas& arenas() { return arenas_; }

 private:
  void feed_master(const Tensor& master, const Tensor* weight);
  template <typename Fill>
  void fill_tensor(const Tensor& tensor, const Fill& fill);
  void feed_staged_inputs(const PassInputs& inputs);
  size_t slice_bytes(const Tensor& tensor) const;
  bool is_staged(const Tensor& tensor) const;
  Panels panels(const Tensor& tensor) const;

  const Program& program_;
  const Feed& feed_;
  Device& device_;
  const Owner owner_;
  Arenas arenas_;
  std::vector<std::byte> inputs_;   ///< staged, of a pass
  std::vector<std::byte> staging_;  ///< room for any of its tensors that the host cannot use in place
};

}  // namespace shardlens
