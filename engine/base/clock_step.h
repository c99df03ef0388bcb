// How finely the steady clock tells time. A browser rounds its clock for every page, so that a page learns
// less about its neighbours.
#pragma once

namespace shardlens {

/// The clock goes on in steps of about so many seconds: a time shorter than that was not measured. 0: finer
/// than anything that is timed.
double clock_step_seconds();

}  // namespace shardlens
