// Says whether the ranks of a run had to share cores. Then a rank that arrives late in a collective was
// mostly waiting for a core, and its wait says little about links.
#pragma once

#include <optional>
#include <string>

#include "engine/runtime/snapshot.h"

namespace shardlens {

struct CoreSharing {
  int ranks = 0;
  int cores = 0;
  bool operator==(const CoreSharing&) const = default;
};

/// Reads it from the run's own facts, so it is right for a recording from another machine too. Nothing if
/// every rank had a core of its own, if they ran on GPUs, or if the facts do not say.
std::optional<CoreSharing> core_sharing(const Result& result);

/// "4 ranks on 2 cores: ranks wait mostly for a core."; empty if no cores were shared.
std::string core_sharing_words(const Result& result);

}  // namespace shardlens
