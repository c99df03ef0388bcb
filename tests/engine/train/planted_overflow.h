// Plants an overflow: on one rank of one replica, in one tensor, in the given passes.
#pragma once

#include <cstring>
#include <limits>
#include <set>
#include <string>

#include "engine/runtime/observer.h"

namespace shardlens::testing {

/// Writes an infinity into an fp32 tensor of one rank, as soon as that rank has computed it.
class PlantedOverflow : public StepObserver {
 public:
  /// `passes`: which of those it sees, from 1; none named: all.
  PlantedOverflow(std::string tensor, int rank, int replica = 0, std::set<int> passes = {})
      : tensor_(std::move(tensor)), rank_(rank), replica_(replica), passes_(std::move(passes)) {}

  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override {
    on_replica_tensor(0, rank, step, tensor, data);
  }
  void on_replica_tensor(int replica, int rank, StepId, const Tensor& tensor, const void* data) override {
    if (rank != rank_ || replica != replica_ || tensor.name != tensor_) return;
    ++pass_;
    if (!passes_.empty() && passes_.count(pass_) == 0) return;
    const float infinite = std::numeric_limits<float>::infinity();
    std::memcpy(const_cast<void*>(data), &infinite, sizeof infinite);
  }

 private:
  std::string tensor_;
  int rank_, replica_;
  std::set<int> passes_;
  int pass_ = 0;
};

/// A gradient of what is cut, before the replicas add theirs: no other rank has this one.
inline std::string cut_gradient(int replicas) {
  return std::string("grad.transformer.h.1.mlp.c_fc.weight") + (replicas > 1 ? "@replica" : "");
}

}  // namespace shardlens::testing
