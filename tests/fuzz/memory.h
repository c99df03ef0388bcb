// Sums the bytes that are held. Who tells it depends on the build: memory_of_sanitizers.cpp or
// memory_of_new.cpp.
#pragma once

#include <cstdint>

namespace shardlens::fuzz {

void count_allocated(int64_t bytes);
void count_released(int64_t bytes);

}  // namespace shardlens::fuzz
