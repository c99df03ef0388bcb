// In a page there is one thread, and nobody who could wake it: whoever waits for a word has waited in vain.
#include "engine/base/futex.h"

namespace shardlens {

bool sleep_while(std::atomic<uint32_t>& word, uint32_t value, double) {
  return word.load() != value;
}

void wake_sleepers(std::atomic<uint32_t>&) {}

}  // namespace shardlens
