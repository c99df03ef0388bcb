// Chooses the next token from logits: the likeliest, or one drawn from the distribution that remains after
// temperature, top-k and top-p. The result depends only on logits, seed and position, so the same call gives
// the same text.
#pragma once

#include <cstdint>
#include <vector>

namespace shardlens {

struct Sampling {
  double temperature = 1;  ///< logits are divided by it; 0: the likeliest token, always
  int64_t top_k = 0;       ///< only the k likeliest; 0: all
  double top_p = 1;        ///< only the smallest set of likeliest tokens whose probabilities reach p; 1: all
  uint64_t seed = 1234;
};

/// Throws a request Error for values that leave nothing to choose from.
void validate(const Sampling& sampling);

/// Chooses the token after `position` others. Of equally likely tokens the lower id comes first.
int32_t choose_token(const std::vector<double>& logits, const Sampling& sampling, int64_t position);

/// The probabilities choose_token() draws from, by id; they sum to 1.
std::vector<double> token_probabilities(const std::vector<double>& logits, const Sampling& sampling);

}  // namespace shardlens
