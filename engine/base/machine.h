// What a program can know of the machine below it where no /proc tells: in a page of the web.
#pragma once

#include <cstdint>
#include <optional>

namespace shardlens {

/// How a processor is called that nothing names.
extern const char* const kUnnamedProcessor;

/// A limit that the program itself has on its memory, besides the system's (limits.h).
struct OwnMemory {
  int64_t limit_bytes = 0, used_bytes = 0;
  const char* name = nullptr;  ///< "a page of the web"
};
/// Nothing if it has none.
std::optional<OwnMemory> own_memory();

}  // namespace shardlens
