// What of this process lies in memory, as the operating system counts it: everything, whoever asked for it,
// beside what arenas and plans say of themselves.
#pragma once

#include <cstdint>

namespace shardlens {

/// Now; 0 where the system does not say.
int64_t resident_bytes();

/// The most since reset_resident_peak(), or else since the process began; 0 where the system does not say.
int64_t resident_peak_bytes();

/// False where the system does not let it be reset.
bool reset_resident_peak();

}  // namespace shardlens
