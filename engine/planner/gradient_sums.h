// Adds the sums that a gradient still needs after the backward passes. Over the ranks, if each rank has seen
// only its own tokens (sequence parallelism). Over the D replicas, because each replica has seen only its own
// rows of the batch (paper, Figure 8).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/planner/builder.h"

namespace shardlens {

/// Gradients are summed in buckets of about this many bytes per rank. A bucket is large enough to use the
/// links well, and small enough that the first one is sent while the backward pass still runs.
inline constexpr int64_t kBucketBytes = int64_t{25} << 20;

/// The bucket of each gradient. `gradient_bytes` are a rank's bytes of them, in the order in which the
/// backward pass completes them.
std::vector<size_t> bucket_of(const std::vector<int64_t>& gradient_bytes);

/// The name of a value before it is summed over the replicas: "loss@replica" if there are several replicas,
/// because a serial run has no such value under the plain name.
std::string replica_value(const Builder& builder, const std::string& name);

/// The same for a value of one part of the batch: "loss.part" if the batch is run in parts.
std::string part_value(const Builder& builder, const std::string& name);

/// Sums every Partial gradient of a parameter over the T ranks. Gradients that the same layer completes share
/// one all-reduce, placed right after the step that completes the last of them. Call after the last backward
/// pass and before reduce_over_replicas().
void reduce_over_ranks(Builder& builder);

/// Sums every parameter's gradient, in buckets, and the loss over the replicas. The all-reduce of a bucket
/// comes right after the step that completes its last gradient. Without `gradients` only the loss is summed.
/// Does nothing with one replica. Call after the last backward pass and before the optimizer.
void reduce_over_replicas(Builder& builder, TensorId loss, bool gradients);

}  // namespace shardlens
