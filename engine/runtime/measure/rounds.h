// Compares times that were measured in rounds: in every round each of the compared runs once, so that what
// the machine does meanwhile meets all of them. A difference counts only if it is there in every round.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace shardlens {

/// The least, the middle and the greatest of several times; zeros if there are none.
struct RoundSpread {
  double least = 0, median = 0, most = 0;
  bool operator==(const RoundSpread&) const = default;
};
RoundSpread spread_of(std::vector<double> seconds);

/// How often a took less time than b, round by round.
struct RoundsCompared {
  int rounds = 0;    ///< that both have
  int a_faster = 0;  ///< ties count for neither
  int b_faster = 0;
  double difference = 0;  ///< of the medians, as a share of b's: -0.12 if a took 12 % less

  /// True unless the same one was faster in every round, and there were at least three.
  bool within_noise() const { return rounds < 3 || (a_faster < rounds && b_faster < rounds); }
};
RoundsCompared compare_rounds(std::span<const double> a, std::span<const double> b);

/// "megatron takes 12 % less time than reversed, in each of 5 rounds" or "megatron and reversed: within the
/// noise (megatron was faster in 3 of 5 rounds)".
std::string rounds_words(const std::string& a, const std::string& b, const RoundsCompared& compared);

}  // namespace shardlens
