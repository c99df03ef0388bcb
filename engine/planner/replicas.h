// Data parallelism: what the D replicas must agree on once their backward passes are done (paper, Figure 8).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/planner/builder.h"

namespace shardlens {

/// Gradients travel in buckets of about this many bytes a rank: large enough to use the links, small enough
/// that the first leaves while the backward pass still runs.
inline constexpr int64_t kBucketBytes = int64_t{25} << 20;

/// The bucket of each gradient, given a rank's bytes of them in the order in which the backward pass
/// completes them.
std::vector<size_t> bucket_of(const std::vector<int64_t>& gradient_bytes);

/// Sums every parameter's gradient, in buckets, and the loss over the replicas. A bucket's all-reduce stands
/// right after the step that completes its last gradient. Without `gradients` the loss alone is summed. Does
/// nothing with one replica. Call after the last
/// backward pass and before the optimizer.
void reduce_over_replicas(Builder& builder, TensorId loss, bool gradients);

}  // namespace shardlens
