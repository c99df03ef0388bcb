// Computes warm-up and decay.
#include "engine/train/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/base/error.h"
#include "engine/base/suggest.h"

namespace shardlens {

std::string to_string(Decay decay) {
  switch (decay) {
    case Decay::Constant:
      return "constant";
    case Decay::Linear:
      return "linear";
    case Decay::Cosine:
      return "cosine";
  }
  return "?";
}

Decay parse_decay(const std::string& text) {
  for (const Decay decay : {Decay::Constant, Decay::Linear, Decay::Cosine}) {
    if (to_string(decay) == text) return decay;
  }
  throw unknown_name("decay", text, {"cosine", "linear", "constant"});
}

double Schedule::rate(int64_t step) const {
  if (step <= warmup) return peak * static_cast<double>(step) / static_cast<double>(warmup);
  if (decay == Decay::Constant) return peak;
  const int64_t span = std::max<int64_t>(1, steps - warmup);
  const double done = std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(span));
  const double left = decay == Decay::Linear ? 1 - done : 0.5 * (1 + std::cos(std::numbers::pi * done));
  return lowest + (peak - lowest) * left;
}

std::optional<int64_t> Schedule::end_of_learning() const {
  if (peak == 0) return 1;
  if (decay == Decay::Constant || lowest > 0) return std::nullopt;
  return std::max(steps, warmup + 1);
}

void validate(const Schedule& s) {
  if (!(s.peak >= 0 && std::isfinite(s.peak)))
    throw request_error(
        fmt::format("a learning rate of {} is not possible; give 0 or more, such as 3e-4", s.peak));
  if (!(s.lowest >= 0 && s.lowest <= s.peak)) {
    throw request_error(
        fmt::format("the lowest learning rate {} must be between 0 and the highest, {}", s.lowest, s.peak));
  }
  if (s.warmup < 0)
    throw request_error(fmt::format("a warm-up of {} steps is not possible; give 0 or more", s.warmup));
  if (s.steps < 1) throw request_error(fmt::format("{} steps are not possible; give 1 or more", s.steps));
}

}  // namespace shardlens
