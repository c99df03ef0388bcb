// The observer that puts full tensors together from the ranks' slices: it puts shards in their places, takes
// one copy of a Replicated tensor, and sums a Partial one. For dumps and tests.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/runtime/observer.h"

namespace shardlens {

struct GatheredTensor {
  Shape shape;
  DType dtype = DType::Fp32;
  std::vector<std::byte> bytes;  ///< row-major
};

class Gather : public StepObserver {
 public:
  /// Gathers the tensors for which `wanted` is true.
  Gather(int ranks, std::function<bool(const Tensor&)> wanted) : ranks_(ranks), wanted_(std::move(wanted)) {}

  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;
  void on_replica_tensor(int replica, int rank, StepId step, const Tensor& tensor, const void* data) override;

  bool wants(const Tensor& tensor) const override { return wanted_(tensor); }

  /// What replica `replica` held, by Tensor::name, after the run.
  const std::map<std::string, GatheredTensor>& tensors(int replica = 0) const {
    return replicas_.at(replica).whole;
  }

 private:
  struct Replica {
    std::map<std::string, GatheredTensor> whole;
    /// The terms of Partial tensors, by rank, until all have come.
    std::map<std::string, std::vector<std::vector<std::byte>>> terms;
  };

  int ranks_;
  std::function<bool(const Tensor&)> wanted_;
  std::mutex mutex_;
  std::map<int, Replica> replicas_{{0, {}}};
};

}  // namespace shardlens
