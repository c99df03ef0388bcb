// How fast text is written token by token, against the read ceiling: a pass over one token reads every weight
// once, so the memory's speed bounds it. Both are measured in turn in one run.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/config/settings.h"
#include "engine/runtime/measure/step_bench.h"

namespace shardlens {

struct GenerateBench {
  int64_t prompt_tokens = 0;
  double prompt_seconds = 0;  ///< of one run of the prompt, planning and memory included
  double median_seconds = 0;  ///< a token: its pass, its logits read, the next one chosen
  double lowest_seconds = 0;
  double highest_seconds = 0;
  int64_t weight_bytes = 0;          ///< read for a token, all ranks together
  double read_bytes_per_second = 0;  ///< the ceiling, all cores: median over the rounds
  double of_read_ceiling = 0;        ///< median over the rounds of weight_bytes/s over this round's ceiling
  double lowest_of_read_ceiling = 0, highest_of_read_ceiling = 0;  ///< of the rounds
  double fastest_token_seconds = 0;
  std::vector<OpTime> op_times;  ///< of the fastest token, rank 0, longest first

  double tokens_per_second() const { return 1 / median_seconds; }
};

/// Feeds a seeded prompt of all of settings.seq but what is then written greedily, `rounds` times eight
/// tokens one after the other, and after each eight as many measurements of the ceiling. Throws a request
/// Error where seq leaves no prompt.
GenerateBench bench_generate(const Settings& settings, int rounds);

}  // namespace shardlens
