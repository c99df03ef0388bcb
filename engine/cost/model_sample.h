// Small Programs from which large models are priced: samples of a model with fewer layers and micro-batches,
// and the gradients that its replicas exchange.
#pragma once

#include <vector>

#include "engine/cost/price.h"
#include "engine/planner/memory_plan.h"

namespace shardlens {

/// Sums over the steps of one rank.
struct CostSum {
  int64_t flops = 0;         ///< attention counts without its mask
  int64_t causal_flops = 0;  ///< without the masked half of attention
  int64_t touched_bytes = 0;
  int64_t tp_collectives = 0;  ///< among the T ranks
  int64_t tp_sent_bytes = 0;
  int64_t dp_collectives = 0;  ///< among the D replicas
  int64_t dp_sent_bytes = 0;
  double compute_seconds = 0;  ///< forward and backward; all seconds here are estimates
  double tp_seconds = 0;
  double dp_seconds = 0;
  double update_seconds = 0;  ///< the optimizer's steps, including its own collective

  double seconds() const { return compute_seconds + tp_seconds + dp_seconds + update_seconds; }
  void add(const Step& step, const StepCost& cost);
  CostSum& operator+=(const CostSum& other);
  CostSum& operator*=(int64_t factor);
};

/// Returns the sum over the steps of a Program that was planned whole, from price()'s counts.
CostSum sum_costs(const Program& program, const std::vector<StepCost>& costs);

/// The cost of a whole model on rank 0, without the collectives among the replicas.
struct ModelSample {
  CostSum sum;
  BytesByKind memory_bytes{};
  ModelSample& operator+=(const ModelSample& other);
  ModelSample& operator*=(int64_t factor);
};

/// Returns `settings`, a valid whole model, with another number of layers and of micro-batches. Each
/// micro-batch keeps its size.
Settings with_sizes(Settings settings, int64_t layers, int64_t parts);

ModelSample sample_of(const Program& program, const Hardware& hardware);

/// Samples with_sizes(settings, layers, parts). A small model is planned whole, a larger one is extrapolated
/// from four small ones.
ModelSample sample_model(const Settings& settings, int64_t layers, int64_t parts, const Hardware& hardware);

/// Rank 0's gradients in the order in which a backward pass completes them.
struct Gradients {
  struct Part {
    struct One {
      int64_t bytes = 0;
      double left_seconds = 0;  ///< from its completion to the end of its part of the backward pass
    };
    std::vector<One> gradients;
    double seconds = 0;  ///< of this part of the backward pass; not used for the head
  };
  Part head, layer, embedding;
};
/// Returns the gradients of a model of one layer; `costs` are rank 0's.
Gradients gradients_of(const Program& program, const std::vector<StepCost>& costs);

struct ReplicaCosts {
  CostSum sum;
  double wait_seconds =
      0;  ///< how long a rank waits for them after its backward pass; they overlap with it (pass_time.h)
};
/// Computes the cost of the all-reduces among the replicas of a model of `layers`: buckets of gradients, and
/// the loss.
ReplicaCosts replica_costs(const Gradients& gradients, int64_t layers, const Settings& settings,
                           const Hardware& hardware);

}  // namespace shardlens
