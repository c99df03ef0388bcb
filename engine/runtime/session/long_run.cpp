// Estimates how long a run takes where one core does all of it.
#include "engine/runtime/session/long_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/config/validate.h"
#include "engine/device/gemm_bench.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

constexpr double kPasses = 4;  // one that samples, two that are timed, one on one rank

/// "about 40 s", "about 3 min".
std::string about(double seconds) {
  return seconds < 100 ? fmt::format("about {:.0f} s", seconds)
                       : fmt::format("about {:.0f} min", seconds / 60);
}

}  // namespace

double one_core_flops() {
  constexpr int64_t kSide = 192;
  static const double flops =
      measure_gemm_ceiling(DType::Fp32, {GemmShape{.m = kSide, .n = kSide, .k = kSide}}, 1, 1, 3)
          .best()
          .median_flops;
  return flops;
}

void refuse_if_long(const Plan& plan, double flops_per_second, double most_seconds) {
  const Settings& settings = plan.program.settings;
  const double seconds = kPasses * static_cast<double>(model_flops(plan)) / flops_per_second;
  if (seconds <= most_seconds) return;
  const std::string message =
      fmt::format("this run takes {} here, where one core computes all ranks in turn", about(seconds));
  // Every token costs at least as much with more tokens in its sequence.
  const int64_t least = settings.block == Block::Model ? int64_t{settings.dp} * settings.micro_batches : 1;
  Settings smaller = settings;
  smaller.batch = least;
  const double tokens = static_cast<double>(settings.batch * settings.seq) * most_seconds / seconds;
  smaller.seq = std::min(settings.seq, static_cast<int64_t>(tokens / static_cast<double>(least)));
  constexpr int64_t kRound = 16;
  if (smaller.seq > kRound) smaller.seq -= smaller.seq % kRound;
  if (smaller.seq < 1) throw TooLarge(message + ". Choose a smaller model.", {});
  throw TooLarge(fmt::format("{}. Batch {} with sequence {} takes less than {:.0f} s.", message, least,
                             smaller.seq, most_seconds),
                 {smaller});
}

}  // namespace shardlens
