// Counts the steps of four small Programs, and adds up.
#include "engine/planner/program_size.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/program/check_program.h"

namespace shardlens {
namespace {

// A layer of one part has at most this many steps (BERT's, of one part of the batch, on several ranks).
constexpr int64_t kMostStepsOfALayer = 100;

/// Steps = once + layers · per_layer + parts · (per_part + layers · per_layer_of_part).
struct Growth {
  int64_t once = 0, per_layer = 0, per_part = 0, per_layer_of_part = 0;

  int64_t of_part(int64_t layers) const { return per_part + layers * per_layer_of_part; }
  int64_t steps(int64_t layers, int64_t parts) const {
    return once + layers * per_layer + parts * of_part(layers);
  }
};

Growth growth_of(const Settings& settings, const PlanProgram& plan) {
  const auto steps = [&](int64_t layers, int parts) {
    Settings small = settings;
    small.model.layers = layers;
    small.layer = 0;
    small.micro_batches = parts;
    small.batch = int64_t{parts} * settings.dp;
    small.delays.clear();
    return static_cast<int64_t>(plan(small).steps.size());
  };
  const int64_t one_one = steps(1, 1), two_one = steps(2, 1), one_two = steps(1, 2), two_two = steps(2, 2);
  Growth growth;
  growth.per_layer_of_part = two_two - two_one - one_two + one_one;
  growth.per_layer = two_one - one_one - growth.per_layer_of_part;
  growth.per_part = one_two - one_one - growth.per_layer_of_part;
  growth.once = one_one - growth.per_layer - growth.of_part(1);
  return growth;
}

// The largest number of parts up to `most` into which a replica's batch can be cut.
int64_t divisor_up_to(int64_t batch, int64_t most) {
  int64_t parts = std::min(batch, most);
  while (batch % parts != 0) --parts;
  return parts;
}

}  // namespace

int64_t expected_steps(const Settings& settings, const PlanProgram& plan) {
  return growth_of(settings, plan).steps(settings.model.layers, settings.micro_batches);
}

void refuse_if_too_many_steps(const Settings& settings, const PlanProgram& plan) {
  const int64_t layers = settings.model.layers, parts = settings.micro_batches;
  const int64_t most = std::min(kMostSteps, kMostRankSteps / settings.tp);
  if ((layers + 2) * parts * settings.overlap_chunks * kMostStepsOfALayer <= most) return;
  const Growth growth = growth_of(settings, plan);
  const int64_t steps = growth.steps(layers, parts);
  if (steps <= most) return;
  const int64_t fitting = (most - growth.steps(layers, 0)) / growth.of_part(layers);
  const std::string remedy = fitting >= 1
                                 ? "Try " + counted(divisor_up_to(settings.batch / settings.dp, fitting),
                                                    "micro-batch", "micro-batches")
                                 : std::string("Choose fewer layers, ranks or overlap parts");
  throw request_error(
      fmt::format("a plan of {} in {} would have about {} steps; on T = {} at most {} are planned. {}, or "
                  "plan --pp 1, which "
                  "estimates the time without listing the steps.",
                  counted(layers, "layer"), counted(parts, "micro-batch", "micro-batches"),
                  grouped_text(steps), settings.tp, grouped_text(most), remedy));
}

}  // namespace shardlens
