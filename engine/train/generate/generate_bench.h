// Measures how fast text is generated token by token, compared with the read ceiling: a pass over one token
// reads every weight once, so the memory's speed limits it. Both are measured alternately in one run.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/rate.h"
#include "engine/config/settings.h"
#include "engine/runtime/measure/step_bench.h"

namespace shardlens {

struct GenerateBench {
  int64_t prompt_tokens = 0;
  double prompt_seconds = 0;  ///< one run of the prompt, planning and memory allocation included
  double median_seconds = 0;  ///< per token: its pass, reading its logits, and choosing the next one
  double lowest_seconds = 0;
  double highest_seconds = 0;
  int64_t weight_bytes = 0;          ///< bytes read per token, all ranks together
  double read_bytes_per_second = 0;  ///< the ceiling, all cores: median over the rounds
  double of_read_ceiling = 0;        ///< median over the rounds of weight_bytes/s over this round's ceiling
  double lowest_of_read_ceiling = 0, highest_of_read_ceiling = 0;  ///< over the rounds
  double fastest_token_seconds = 0;                                ///< of the traced tokens
  std::vector<OpTime> op_times;  ///< times of the fastest traced token, rank 0, longest first

  double tokens_per_second() const { return per_second(1, median_seconds); }
};

/// Feeds a seeded prompt of settings.seq tokens less those that are then generated greedily. Generates
/// `rounds` times eight tokens in a row, and after each eight measures the ceiling eight times. These tokens
/// are not traced, as in any text; eight more are. Throws a request Error if seq leaves no prompt.
GenerateBench bench_generate(const Settings& settings, int rounds);

}  // namespace shardlens
