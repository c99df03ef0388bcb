// A program of the system has the system's limits alone.
#include "engine/base/machine.h"

namespace shardlens {

const char* const kUnnamedProcessor = "unknown CPU";

std::optional<OwnMemory> own_memory() {
  return std::nullopt;
}

}  // namespace shardlens
