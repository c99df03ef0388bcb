// The few small Programs that large models are priced from: samples of a model with fewer layers and parts of
// a batch, and the gradients its replicas exchange.
#pragma once

#include <vector>

#include "engine/cost/price.h"
#include "engine/planner/memory_plan.h"

namespace shardlens {

/// Sums over the steps of one rank.
struct CostSum {
  int64_t flops = 0;         ///< attention counted whole
  int64_t causal_flops = 0;  ///< its masked half left out
  int64_t touched_bytes = 0;
  int64_t tp_collectives = 0;  ///< of the T ranks
  int64_t tp_sent_bytes = 0;
  int64_t dp_collectives = 0;  ///< among the D replicas
  int64_t dp_sent_bytes = 0;
  double compute_seconds = 0;  ///< forward and backward, estimated as all seconds here
  double tp_seconds = 0;
  double dp_seconds = 0;
  double update_seconds = 0;  ///< the optimizer's steps, its own collective included

  double seconds() const { return compute_seconds + tp_seconds + dp_seconds + update_seconds; }
  void add(const Step& step, const StepCost& cost);
  CostSum& operator+=(const CostSum& other);
  CostSum& operator*=(int64_t factor);
};

/// The steps of a Program that was planned whole, as price() counted them.
CostSum sum_costs(const Program& program, const std::vector<StepCost>& costs);

/// A whole model on rank 0, without what the replicas exchange.
struct ModelSample {
  CostSum sum;
  BytesByKind memory_bytes{};
  ModelSample& operator+=(const ModelSample& other);
  ModelSample& operator*=(int64_t factor);
};

/// `settings`, a valid whole model, with other numbers of layers and of parts of a batch, which stay as
/// large.
Settings with_sizes(Settings settings, int64_t layers, int64_t parts);

ModelSample sample_of(const Program& program, const Hardware& hardware);

/// with_sizes(settings, layers, parts) planned whole where it is small, and else from four that are.
ModelSample sample_model(const Settings& settings, int64_t layers, int64_t parts, const Hardware& hardware);

/// Rank 0's gradients in the order in which a backward pass completes them.
struct Gradients {
  struct Part {
    struct One {
      int64_t bytes = 0;
      double left_seconds = 0;  ///< from when it is complete to the end of its part of the backward pass
    };
    std::vector<One> gradients;
    double seconds = 0;  ///< of this part of the backward pass; of the head it does not matter
  };
  Part head, layer, embedding;
};
/// Of a model of one layer; `costs` are rank 0's.
Gradients gradients_of(const Program& program, const std::vector<StepCost>& costs);

struct ReplicaCosts {
  CostSum sum;
  double wait_seconds = 0;  ///< a rank's, after its backward pass, beside which they go on (pass_time.h)
};
/// The all-reduces among the replicas of a model of `layers`: buckets of gradients, and the loss.
ReplicaCosts replica_costs(const Gradients& gradients, int64_t layers, const Settings& settings,
                           const Hardware& hardware);

}  // namespace shardlens
