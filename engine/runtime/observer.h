// The interface for code that sees tensors while a Program runs: the sampler that makes pictures, the parity
// check, the file dump. A run without observers has no extra cost.
#pragma once

#include "engine/program/program.h"

namespace shardlens {

class StepObserver {
 public:
  virtual ~StepObserver() = default;

  /// Rank `rank` of the first replica begins the executor's pass number `pass`. `weights_kept`: until a step
  /// changes them, its weights are bit for bit what the pass before left. Called before the first on_tensor()
  /// of that pass.
  virtual void on_pass(int rank, uint64_t pass, bool weights_kept) {
    (void)rank, (void)pass, (void)weights_kept;
  }

  /// Rank `rank` holds `data` (host memory, its local slice) as `tensor` after `step`; step -1: fed before
  /// the run. Called from the rank's own thread, outside the step's measured time, while other ranks go on.
  /// If it throws, the run fails like when the step throws.
  virtual void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) = 0;

  /// Rank `rank` of the first replica stood still for `seconds` while `tensor`, which it shows next, was
  /// copied from its device. Not called if the host reads the tensor in place.
  virtual void on_copy(int rank, const Tensor& tensor, double seconds) {
    (void)rank, (void)tensor, (void)seconds;
  }

  /// The same as on_tensor() for rank `rank` of replica `replica`, from 1: the first replica calls
  /// on_tensor().
  virtual void on_replica_tensor(int replica, int rank, StepId step, const Tensor& tensor, const void* data) {
    (void)replica, (void)rank, (void)step, (void)tensor, (void)data;
  }

  /// False if the observer would ignore the tensor in the pass that begins: then the data need not be fetched
  /// from a device or another process, and on_tensor() is not called. Any thread.
  virtual bool wants(const Tensor& tensor) const { return (void)tensor, true; }
};

}  // namespace shardlens
