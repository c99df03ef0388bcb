// Temperature, top-k, top-p.
#include "engine/train/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/config/error.h"
#include "engine/device/philox.h"

namespace shardlens {
namespace {

// Uniform in [0, 1), 53 bits.
double uniform(uint64_t seed, int64_t position) {
  uint32_t words[2];
  fill_words(RandomStream(seed, "sampling"), 2 * position, 2, words);
  return std::ldexp(static_cast<double>((static_cast<uint64_t>(words[0]) << 21) ^ (words[1] >> 11)), -53);
}

}  // namespace

void validate(const Sampling& s) {
  if (!(s.temperature >= 0 && std::isfinite(s.temperature)))
    throw request_error(
        fmt::format("a temperature of {} is not possible; give 0 (greedy) or more", s.temperature));
  if (s.top_k < 0)
    throw request_error(fmt::format("top-k = {}: give 1 or more, or 0 for all tokens", s.top_k));
  if (!(s.top_p > 0 && s.top_p <= 1))
    throw request_error(fmt::format("top-p = {} is not possible; give more than 0 and at most 1", s.top_p));
}

std::vector<double> token_probabilities(const std::vector<double>& logits, const Sampling& sampling) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  std::vector<double> probabilities(logits.size(), 0.0);
  if (sampling.temperature == 0) {
    probabilities[order.front()] = 1;
    return probabilities;
  }
  size_t kept = order.size();
  if (sampling.top_k > 0) kept = std::min(kept, static_cast<size_t>(sampling.top_k));
  const double highest = logits[order.front()];
  double sum = 0;
  for (size_t i = 0; i < kept; ++i) {
    probabilities[order[i]] = std::exp((logits[order[i]] - highest) / sampling.temperature);
    sum += probabilities[order[i]];
  }
  double reached = 0;
  for (size_t i = 0; i < kept; ++i) {
    if (reached >= sampling.top_p * sum) {
      probabilities[order[i]] = 0;
    } else {
      reached += probabilities[order[i]];
    }
  }
  for (double& p : probabilities) p /= reached;
  return probabilities;
}

int32_t choose_token(const std::vector<double>& logits, const Sampling& sampling, int64_t position) {
  const std::vector<double> probabilities = token_probabilities(logits, sampling);
  double left = uniform(sampling.seed, position);
  size_t last = 0;  // rounding may leave a little
  for (size_t id = 0; id < probabilities.size(); ++id) {
    if (probabilities[id] == 0) continue;
    last = id;
    left -= probabilities[id];
    if (left < 0) break;
  }
  return static_cast<int32_t>(last);
}

}  // namespace shardlens
