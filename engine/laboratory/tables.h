// The tables of the experiments, and what they have in common. Only for the files of this folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/laboratory/laboratory.h"

namespace shardlens::lab {

void add_product_experiments(std::vector<Experiment>& table);  ///< products, biases and residual sums
void add_layer_experiments(std::vector<Experiment>& table);    ///< GeLU, dropout, tanh, rounding
void add_norm_experiments(std::vector<Experiment>& table);
void add_attention_experiments(std::vector<Experiment>& table);  ///< heads, and the cache
void add_loss_experiments(std::vector<Experiment>& table);       ///< softmax and loss over the vocabulary
void add_embedding_experiments(std::vector<Experiment>& table);
void add_optimizer_experiments(std::vector<Experiment>& table);

inline const Layout kByTokens = sharded(0), kByColumns = sharded(1);

/// A way without a choice, in which every rank computes what one rank computes, from its own part.
inline Way same_on_each(const Experiment& experiment, Layout layout, Joined joined, bool is_right,
                        std::string why) {
  return {.layout = layout,
          .name = {},
          .joined = joined,
          .why = std::move(why),
          .is_right = is_right,
          .on_rank = [whole = experiment.whole](const Bench& bench, const Numbers& held, int) {
            return whole(bench, held);
          }};
}

}  // namespace shardlens::lab
