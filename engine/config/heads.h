// How T ranks share a model's attention heads: which T cut them evenly, and what is done where T does not.
// One place decides; the planner lays tensors out by it, validation refuses by it, and the prices follow.
#pragma once

#include <string>

#include "engine/config/settings.h"

namespace shardlens {

/// Where a cut between the heads leaves the key and value heads.
enum class KeyCut {
  Sliced,  ///< with the query heads that read them: T is not above their number
  Copied,  ///< one on each of T / kv_heads neighbouring ranks
  Whole    ///< all of them on every rank
};

/// Query heads are cut in units that stay together: a key head with all query heads that share it, or, where
/// T is above the number of key heads, single query heads.
struct HeadsCut {
  int64_t units = 1;
  int64_t heads_per_unit = 1;
  KeyCut keys = KeyCut::Sliced;
  int copies = 1;       ///< ranks that hold the same key heads; above 1 when keys are Copied
  bool padded = false;  ///< every rank has room for as many units, the missing ones are zero
};
HeadsCut heads_cut(const Settings& settings);

/// True when every one of `tp` ranks gets as many query heads, and key heads are sliced or copied evenly.
bool divides_heads(const Model& model, int tp);

/// True when zero heads make the ranks even: there is nothing to pad where T divides the heads, and query
/// heads alone cannot be padded, since a missing one would read a key head that is not zero.
bool can_pad_heads(const Model& model, int tp);

/// The heads of which one rank has the most, the mean over the ranks, and what of it all is padding.
struct HeadsShare {
  int64_t fullest = 0;      ///< query heads the fullest rank computes with, zero heads included
  double mean = 0;          ///< of the model's own heads
  double imbalance = 1;     ///< fullest / mean
  double wasted_share = 0;  ///< zero heads among all that are computed with
};
HeadsShare heads_share(const Settings& settings);

/// "12 heads over 5 ranks: the fullest has 3, the mean is 2.4", and the zero heads; "" where T divides.
std::string heads_share_text(const Settings& settings);

}  // namespace shardlens
