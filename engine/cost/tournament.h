// Ranks every legal split of a model on every T x D of a number of ranks by predicted time. These are
// thousands of plans, but only small Programs are planned, one for each split of a layer and one for each
// split of the ends. This works because the cost of a layer does not depend on the cut of the ends, nor the
// cost of the ends on the cut of a layer, so the costs can be added.
#pragma once

#include <string>
#include <vector>

#include "engine/base/job.h"
#include "engine/cost/model_price.h"

namespace shardlens {

struct Entrant {
  Split split;  ///< its name is a named split's, or the cuts in words
  int tp = 1;
  int dp = 1;
  CostSum sum;  ///< a training step of rank 0; overlapped collectives count only the seconds that steps wait
  double seconds = 0;        ///< estimated
  int64_t state_bytes = 0;   ///< weights, gradients and optimizer's state of rank 0: the least it can hold
  int64_t memory_bytes = 0;  ///< planned; 0 unless the entrant is listed
};

struct Tournament {
  std::vector<Entrant> entrants;  ///< all of them, fastest first
  std::vector<size_t> listed;     ///< the fastest that fit, as indices into `entrants`
  int64_t limit_bytes = 0;
  size_t too_large = 0;  ///< entrants before the last one listed that exceed the limit
  size_t not_legal = 0;  ///< splits that the planner refuses
  size_t programs = 0;   ///< number of small Programs planned
  bool complete = true;  ///< false: the search for entrants that fit was given up
};

/// Returns "qkv column, attn.proj row, fc column, mlp.proj row, embedding vocab, …", or a named split's name.
std::string words_of(const Split& split);

/// Ranks all entrants with T x D = `ranks` for a training step of `settings` (its T, D and split do not
/// matter), on `hardware` with at most `limit_bytes` a rank. Memory is planned only until `listed` entrants
/// fit. D times the number of micro-batches must divide the batch. Throws a request Error if no T x D is
/// possible.
Tournament hold_tournament(const Settings& settings, int ranks, const Hardware& hardware, int64_t limit_bytes,
                           size_t listed);
/// The same, in pieces of a plan each.
Job<Tournament> hold_in_pieces(Settings settings, int ranks, Hardware hardware, int64_t limit_bytes,
                               size_t listed);

/// For a list in predicted order: the number of pairs, and the number of them that a measurement puts in the
/// same order.
struct PairOrder {
  int agree = 0;
  int pairs = 0;
};
PairOrder order_of(const std::vector<double>& measured_seconds);

/// Returns `settings` with the entrant's split, T and D.
Settings settings_of(const Settings& settings, const Entrant& entrant);

/// Returns the bytes that a rank may hold: a device's memory or, on this machine, a share of it.
int64_t memory_of_a_rank(const Hardware& hardware, int ranks);

}  // namespace shardlens
