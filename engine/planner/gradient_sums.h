// Sums a gradient still lacks once the backward passes are done: over the ranks, where each has seen only its
// own tokens (sequence parallelism), and over the D replicas, where each has seen only its own rows of the
// batch (paper, Figure 8).
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

/// What a value is called that is a replica's own until it is summed over the replicas: "loss@replica" where
/// there are several, for it is not what a serial run calls by that name.
std::string replica_value(const Builder& builder, const std::string& name);

/// The same for a value that is also only a part of the batch's: "loss.part" where the batch is run in parts.
std::string part_value(const Builder& builder, const std::string& name);

/// Sums every parameter's gradient that is Partial over the T ranks; those a layer completes travel in one
/// all-reduce, which stands right after the step that completes the last of them. Call after the last
/// backward pass and before reduce_over_replicas().
void reduce_over_ranks(Builder& builder);

/// Sums every parameter's gradient, in buckets, and the loss over the replicas. A bucket's all-reduce stands
/// right after the step that completes its last gradient. Without `gradients` the loss alone is summed. Does
/// nothing with one replica. Call after the last
/// backward pass and before the optimizer.
void reduce_over_replicas(Builder& builder, TensorId loss, bool gradients);

}  // namespace shardlens
