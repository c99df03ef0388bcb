// How a thread waits for another thread of this process: it watches for a moment, then sleeps in the kernel.
// It never yields. A thread that yields on a busy machine gives its core away for a whole time slice, some
// milliseconds; a thread that sleeps is scheduled soon after it is woken.
#pragma once

#include "engine/base/clock.h"
#include "engine/base/cpu_pause.h"

namespace shardlens {

/// When the calling thread may watch again. A thread that loses its core while it watches shares the core
/// with other work: then it sleeps at once, for some time. Watching would only use up its share of the core,
/// and the thread it waits for may need this very core.
class CrowdedCore {
 public:
  static CrowdedCore& of_this_thread() {
    thread_local CrowdedCore core;
    return core;
  }
  bool is_crowded(double now) const { return now < until_seconds_; }
  /// `passed`: the seconds that a few looks took.
  void note(double now, double passed) {
    if (passed > kLostCoreSeconds) until_seconds_ = now + kCrowdedSeconds;
  }

 private:
  // Far longer than an interrupt, far shorter than a time slice.
  static constexpr double kLostCoreSeconds = 500e-6;
  static constexpr double kCrowdedSeconds = 0.1;
  double until_seconds_ = 0;
};

/// Watches until `happened()`, for at most `most_seconds`. Returns what happened() said last.
template <class Happened>
bool watch(double most_seconds, const Happened& happened) {
  constexpr int kLooksPerTime = 32;
  if (happened()) return true;
  CrowdedCore& core = CrowdedCore::of_this_thread();
  const double begin = now_seconds();
  if (core.is_crowded(begin)) return false;
  for (double before = begin; before - begin < most_seconds;) {
    for (int look = 0; look < kLooksPerTime; ++look) {
      if (happened()) return true;
      cpu_pause();
    }
    const double now = now_seconds();
    core.note(now, now - before);
    if (core.is_crowded(now)) break;
    before = now;
  }
  return happened();
}

}  // namespace shardlens
