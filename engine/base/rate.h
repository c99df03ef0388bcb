// Rates: amounts in a second. A clock can stand still between two looks (a very short time, a machine that is
// emulated, a debugger), and then no rate is known.
#pragma once

namespace shardlens {

/// Returns amount / seconds, or 0 for "not known" if no time has passed.
inline double per_second(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}

/// Returns part / whole, or 0 for "not known" if the whole is 0: a ceiling that was measured while the clock
/// stood still.
inline double ratio_or_zero(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace shardlens
