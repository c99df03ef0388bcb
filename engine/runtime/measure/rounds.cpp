// RoundSpread and comparison of times measured in rounds.
#include "engine/runtime/measure/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardlens {

RoundSpread spread_of(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::sort(seconds.begin(), seconds.end());
  const size_t half = seconds.size() / 2;
  const double median = seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
  return {seconds.front(), median, seconds.back()};
}

RoundsCompared compare_rounds(std::span<const double> a, std::span<const double> b) {
  RoundsCompared compared;
  compared.rounds = static_cast<int>(std::min(a.size(), b.size()));
  for (int round = 0; round < compared.rounds; ++round) {
    const auto at = static_cast<size_t>(round);
    compared.a_faster += a[at] < b[at];
    compared.b_faster += b[at] < a[at];
  }
  const double of_a = spread_of({a.begin(), a.end()}).median, of_b = spread_of({b.begin(), b.end()}).median;
  if (of_b > 0) compared.difference = of_a / of_b - 1;
  return compared;
}

std::string rounds_words(const std::string& a, const std::string& b, const RoundsCompared& compared) {
  if (compared.rounds == 0) return {};
  if (compared.within_noise())
    return fmt::format("{} and {}: within the noise ({} was faster in {} of {} rounds)", a, b, a,
                       compared.a_faster, compared.rounds);
  return fmt::format("{} takes {:.0f} % {} time than {}, in each of {} rounds", a,
                     std::abs(compared.difference) * 100, compared.difference < 0 ? "less" : "more", b,
                     compared.rounds);
}

}  // namespace shardlens
