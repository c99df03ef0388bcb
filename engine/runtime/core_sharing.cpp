// Reads the number of cores from what the communicator of threads says about itself.
#include "engine/runtime/core_sharing.h"

#include <fmt/format.h>

#include <charconv>

#include "engine/base/counted.h"

namespace shardlens {

std::optional<CoreSharing> core_sharing(const Result& result) {
  if (!result.plan || result.communicator.name != "local") return std::nullopt;
  if (!result.plan->program.settings.delays.empty()) return std::nullopt;  // then it is for the late rank
  // "4 CPU threads, 2 cores", perhaps with "; " and more after it (local.cpp).
  const std::string& reason = result.communicator.reason;
  const size_t comma = reason.find(", ");
  if (comma == std::string::npos) return std::nullopt;
  CoreSharing shared{result.plan->program.tp() * result.plan->program.dp(), 0};
  const char* const number = reason.data() + comma + 2;
  const auto [end, error] = std::from_chars(number, reason.data() + reason.size(), shared.cores);
  if (error != std::errc() || shared.cores < 1 || shared.ranks <= shared.cores) return std::nullopt;
  return shared;
}

std::string core_sharing_words(const Result& result) {
  const std::optional<CoreSharing> shared = core_sharing(result);
  if (!shared) return {};
  return fmt::format("{} on {}: ranks wait mostly for a core.", counted(shared->ranks, "rank"),
                     counted(shared->cores, "core"));
}

}  // namespace shardlens
