// Where workers take turns with the window, such as in a page of the web, a long run holds it up. So what it
// will cost is said first, and it begins when it is asked for.
#pragma once

#include "engine/runtime/snapshot.h"

namespace shardlens {

/// How fast one core of this machine multiplies matrices in fp32, in FLOP/s: measured once, in some
/// milliseconds.
double one_core_flops();

/// Throws TooLarge if what a Session does for `plan` takes longer than `most_seconds` on one core that
/// multiplies `flops_per_second`: the message says how long, and names the largest size that does not.
void refuse_if_long(const Plan& plan, double flops_per_second, double most_seconds);

}  // namespace shardlens
