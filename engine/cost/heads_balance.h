// Computes the cost of heads that T does not divide: the fullest rank's share against the mean rank's. All
// other ranks wait for the fullest one. It is counted from the Program, so zero heads count as the work they
// are.
#pragma once

#include <vector>

#include "engine/config/heads.h"
#include "engine/cost/price.h"

namespace shardlens {

/// Returns the largest of `of_rank` over their mean; 1 if they are equal or all zero.
double imbalance(const std::vector<double>& of_rank);

struct HeadsBalance {
  HeadsShare heads;
  double attention_flops_imbalance = 1;  ///< of the products between heads, forward and backward
  double flops_imbalance = 1;            ///< of all products
  double weight_imbalance = 1;           ///< of the bytes of the weights
};

/// `costs`: the result of price() for every rank.
HeadsBalance heads_balance(const Program& program, const std::vector<std::vector<StepCost>>& costs);

/// True for the products between heads. An uneven cut makes the time of these steps differ.
bool is_between_heads(Op op);

}  // namespace shardlens
