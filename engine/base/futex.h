// A thread sleeps in the kernel while a word has a value. Where a program has one thread (futex_web.cpp),
// nobody sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace shardlens {

/// Sleeps while `word` has `value`, for at most `seconds`. Returns false if it slept for the whole time; true
/// if it was woken or the word had another value already. It may also wake without a reason: look again.
bool sleep_while(std::atomic<uint32_t>& word, uint32_t value,
                 double seconds = std::numeric_limits<double>::infinity());

/// Wakes every thread that sleeps on `word`.
void wake_sleepers(std::atomic<uint32_t>& word);

}  // namespace shardlens
