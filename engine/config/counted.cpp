// Numbers with their nouns.
#include "engine/config/counted.h"

#include <fmt/format.h>

#include "engine/config/units.h"

namespace shardlens {

std::string counted(int64_t number, std::string_view one, std::string_view many) {
  if (number == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", grouped_text(number), one)
                      : fmt::format("{} {}", grouped_text(number), many);
}

}  // namespace shardlens
