// Every legal split of a model on every T x D of a number of ranks, ranked by predicted time: thousands of
// plans, of which only one small Program a split of a layer and one a split of the ends is planned. The idea:
// what a layer costs does not depend on how the ends are cut, nor the other way round, so the costs add up.
#pragma once

#include <string>
#include <vector>

#include "engine/cost/model_price.h"

namespace shardlens {

struct Entrant {
  Split split;  ///< its name is a named split's, or the cuts in words
  int tp = 1;
  int dp = 1;
  CostSum sum;  ///< a training step of rank 0; of sums beside the steps the seconds that those wait for them
  double seconds = 0;        ///< estimated
  int64_t state_bytes = 0;   ///< weights, gradients and optimizer's state of rank 0: the least it holds
  int64_t memory_bytes = 0;  ///< planned; 0 unless it is among those listed
};

struct Tournament {
  std::vector<Entrant> entrants;  ///< all of them, fastest first
  std::vector<size_t> listed;     ///< the fastest that fit, by their place among the entrants
  int64_t limit_bytes = 0;
  size_t too_large = 0;  ///< entrants before the last one listed that exceed the limit
  size_t not_legal = 0;  ///< splits the planner refuses
  size_t programs = 0;   ///< planned for it
  bool complete = true;  ///< false: the search for ones that fit was given up
};

/// "qkv column, attn.proj row, fc column, mlp.proj row, embedding vocab, …", or a named split's name.
std::string words_of(const Split& split);

/// T x D = `ranks` for a training step of `settings` (its T, D and split do not matter), ranked on `hardware`
/// with at most `limit_bytes` a rank, of which the first `listed` are planned for their memory. D must divide
/// the batch into the settings' parts. Throws a request Error when no T x D is possible.
Tournament hold_tournament(const Settings& settings, int ranks, const Hardware& hardware, int64_t limit_bytes,
                           size_t listed);

/// Of a list in predicted order, the pairs that a measurement puts in the same order.
struct PairOrder {
  int agree = 0;
  int pairs = 0;
};
PairOrder order_of(const std::vector<double>& measured_seconds);

/// `settings` as an entrant trains it.
Settings settings_of(const Settings& settings, const Entrant& entrant);

/// What a rank may hold: a device's memory or, of this machine, a share of it.
int64_t memory_of_a_rank(const Hardware& hardware, int ranks);

}  // namespace shardlens
