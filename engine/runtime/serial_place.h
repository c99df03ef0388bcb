// Where the run on one rank holds the value of a tensor: under which name, and from which row on. A replica
// has its own rows of the batch, so most of its tensors are some rows of a larger one there.
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

/// What the D replicas hold of a tensor.
enum class OnReplicas {
  Same,   ///< the same bits: weights, sums over the replicas, the update. With D = 1 everything is
  Rows,   ///< each its own rows of the batch
  Terms,  ///< terms: their sum over the replicas is the value
};
/// [tensor]
std::vector<OnReplicas> on_replicas(const Program& program);

struct SerialPlace {
  std::string value;      ///< Tensor::value there
  int64_t first_row = 0;  ///< the first of the tensor's rows, in the leading dimension
};
/// `of`: what the replicas hold of `tensor`.
SerialPlace serial_place(const Program& program, const Tensor& tensor, OnReplicas of, int replica);

/// True for a sum over some parts of a replica's rows. The run on one rank adds up the parts of all replicas
/// together, so no value there has the same rows.
bool is_part_of_a_sum(const Program& program, const Tensor& tensor);

}  // namespace shardlens
