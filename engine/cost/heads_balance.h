// What heads that T does not divide cost: the fullest rank's share against the mean rank's, which all others
// wait for. Counted from the Program, so that zero heads count as the work they are.
#pragma once

#include <vector>

#include "engine/config/heads.h"
#include "engine/cost/price.h"

namespace shardlens {

/// The largest of `of_rank` over their mean; 1 where they are equal or all zero.
double imbalance(const std::vector<double>& of_rank);

struct HeadsBalance {
  HeadsShare heads;
  double attention_flops_imbalance = 1;  ///< of the products between heads, forward and backward
  double flops_imbalance = 1;            ///< of all products
  double weight_imbalance = 1;           ///< of the bytes of the weights
};

/// `costs`: what price() says of every rank.
HeadsBalance heads_balance(const Program& program, const std::vector<std::vector<StepCost>>& costs);

/// True for the products between heads, whose time is what an uneven cut makes differ.
bool is_between_heads(Op op);

}  // namespace shardlens
