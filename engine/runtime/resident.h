// This process's resident memory, as the operating system counts it: all of it, not only what arenas and
// plans count.
#pragma once

#include <cstdint>

namespace shardlens {

/// The resident bytes now; 0 if the system does not report them.
int64_t resident_bytes();

/// The most since reset_resident_peak(), or since the process began; 0 if the system does not report it.
int64_t resident_peak_bytes();

/// Sets the peak back to the present value. False if the system does not allow it.
bool reset_resident_peak();

}  // namespace shardlens
