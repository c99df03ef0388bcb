// How T ranks share a model's attention heads: which T divide them evenly, and what happens if T does not.
// The planner's layouts, the validation and the prices all use the rules in this file.
#pragma once

#include <string>

#include "engine/config/settings.h"

namespace shardlens {

/// How key and value heads are placed when the query heads are cut.
enum class KeyCut {
  Sliced,  ///< with the query heads that read them: T is at most the number of key heads
  Copied,  ///< each key head on T / kv_heads neighbouring ranks
  Whole    ///< all of them on every rank
};

/// Query heads are cut in units that stay together. A unit is a key head with all query heads that share it.
/// If T is above the number of key heads, a unit is a single query head.
struct HeadsCut {
  int64_t units = 1;
  int64_t heads_per_unit = 1;
  KeyCut keys = KeyCut::Sliced;
  int copies = 1;       ///< ranks that hold the same key heads; above 1 when keys are Copied
  bool padded = false;  ///< every rank holds the same number of units; missing ones are zero
};
HeadsCut heads_cut(const Settings& settings);

/// True if every one of `tp` ranks gets the same number of query heads, and key heads are sliced or copied
/// evenly.
bool divides_heads(const Model& model, int tp);

/// True if zero heads can make the ranks even. If T divides the heads there is nothing to pad. Query heads
/// alone cannot be padded, because a missing one would read a key head that is not zero.
bool can_pad_heads(const Model& model, int tp);

/// How heads are spread: the most on one rank, the mean over the ranks, and the share that is padding.
struct HeadsShare {
  int64_t fullest = 0;      ///< query heads the fullest rank computes with, zero heads included
  double mean = 0;          ///< of the model's own heads
  double imbalance = 1;     ///< fullest / mean
  double wasted_share = 0;  ///< zero heads / all heads in the computation
};
HeadsShare heads_share(const Settings& settings);

/// Returns "12 heads over 5 ranks: 3 on the fullest, 2.40 on average, ...", or the number of zero heads; ""
/// if T divides the heads.
std::string heads_share_text(const Settings& settings);

}  // namespace shardlens
