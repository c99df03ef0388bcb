// Compares the fullest rank with the mean.
#include "engine/cost/heads_balance.h"

#include <algorithm>
#include <numeric>

namespace shardlens {

double imbalance(const std::vector<double>& of_rank) {
  const double sum = std::accumulate(of_rank.begin(), of_rank.end(), 0.0);
  if (sum <= 0) return 1;
  const double mean = sum / static_cast<double>(of_rank.size());
  return *std::max_element(of_rank.begin(), of_rank.end()) / mean;
}

bool is_between_heads(Op op) {
  return op == Op::Attention || op == Op::AttentionGrad || op == Op::CachedAttention;
}

HeadsBalance heads_balance(const Program& program, const std::vector<std::vector<StepCost>>& costs) {
  const size_t ranks = costs.size();
  std::vector<double> attention(ranks, 0), flops(ranks, 0), weights(ranks, 0);
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (const Step& step : program.steps) {
      const auto own = static_cast<double>(costs[rank][static_cast<size_t>(step.id)].flops);
      flops[rank] += own;
      if (is_between_heads(step.op)) attention[rank] += own;
    }
    for (const Tensor& tensor : program.tensors) {
      if (tensor.kind != MemoryKind::Weight || tensor.storage != kNoTensor) continue;
      weights[rank] += static_cast<double>(local_bytes(tensor, program.ranks(), static_cast<int>(rank)));
    }
  }
  return {heads_share(program.settings), imbalance(attention), imbalance(flops), imbalance(weights)};
}

}  // namespace shardlens
