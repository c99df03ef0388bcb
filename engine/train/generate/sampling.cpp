// Implements temperature, top-k and top-p.
#include "engine/train/generate/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

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

// The largest value of a block. Several independent maxima are kept, because in a single chain each would
// wait for the one before. Minus infinity if all are NaN.
double largest(std::span<const double> block) {
  constexpr size_t kAtOnce = 8;
  std::array<double, kAtOnce> tops;
  tops.fill(-std::numeric_limits<double>::infinity());
  size_t i = 0;
  for (; i + kAtOnce <= block.size(); i += kAtOnce)
    for (size_t one = 0; one < kAtOnce; ++one)
      tops[one] = block[i + one] > tops[one] ? block[i + one] : tops[one];
  for (; i < block.size(); ++i) tops[0] = block[i] > tops[0] ? block[i] : tops[0];
  return *std::max_element(tops.begin(), tops.end());
}

// The index of the first largest value. A vocabulary is long, so the index is searched only in the block that
// holds the value.
size_t likeliest(std::span<const double> logits) {
  constexpr size_t kBlock = 512;
  double top = -std::numeric_limits<double>::infinity();
  size_t block_of_top = 0;
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const double here = largest(logits.subspan(begin, std::min(kBlock, logits.size() - begin)));
    if (here > top) {
      top = here;
      block_of_top = begin;
    }
  }
  const auto found = std::find(logits.begin() + static_cast<std::ptrdiff_t>(block_of_top), logits.end(), top);
  return found == logits.end() ? 0 : static_cast<size_t>(found - logits.begin());  // 0: all are NaN
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
  std::vector<double> probabilities(logits.size(), 0.0);
  const size_t top = likeliest(logits);
  if (sampling.temperature == 0) {
    probabilities[top] = 1;
    return probabilities;
  }
  const double highest = logits[top];
  // A vocabulary is long and the kept part is usually short, so nothing is sorted completely.
  const auto likelier = [&](size_t a, size_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  };
  std::vector<size_t> kept(logits.size());
  std::iota(kept.begin(), kept.end(), size_t{0});
  if (sampling.top_k > 0 && static_cast<size_t>(sampling.top_k) < kept.size()) {
    std::nth_element(kept.begin(), kept.begin() + sampling.top_k, kept.end(), likelier);
    kept.resize(static_cast<size_t>(sampling.top_k));
  }
  double sum = 0;
  for (const size_t id : kept) {
    probabilities[id] = std::exp((logits[id] - highest) / sampling.temperature);
    sum += probabilities[id];
  }
  if (sampling.top_p < 1) {
    const auto less_likely = [&](size_t a, size_t b) { return likelier(b, a); };
    std::make_heap(kept.begin(), kept.end(), less_likely);
    auto rest = kept.end();  // before `rest`: tokens that can be dropped; after it: tokens that stay
    double reached = 0;
    while (rest != kept.begin() && reached < sampling.top_p * sum) {
      std::pop_heap(kept.begin(), rest, less_likely);
      reached += probabilities[*--rest];
    }
    for (auto id = kept.begin(); id != rest; ++id) probabilities[*id] = 0;
    sum = reached;
  }
  for (double& p : probabilities) p /= sum;
  return probabilities;
}

int32_t choose_token(const std::vector<double>& logits, const Sampling& sampling, int64_t position) {
  if (sampling.temperature == 0) return static_cast<int32_t>(likeliest(logits));
  const std::vector<double> probabilities = token_probabilities(logits, sampling);
  double left = uniform(sampling.seed, position);
  size_t last = 0;  // rounding can leave a small remainder
  for (size_t id = 0; id < probabilities.size(); ++id) {
    if (probabilities[id] == 0) continue;
    last = id;
    left -= probabilities[id];
    if (left < 0) break;
  }
  return static_cast<int32_t>(last);
}

}  // namespace shardlens
