// Computes prices and refuses.
#include "engine/lesson/price.h"

#include <fmt/format.h>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

// About so many steps has a Program for each layer and part of the batch, forward and backward.
constexpr double kStepsOfALayer = 40;
constexpr double kStepsOfAChunk = 5;  // each further part of an overlapped product adds these

}  // namespace

void refuse_large_plan(const Settings& settings) {
  const bool whole = settings.block == Block::Model;
  const int64_t layers = whole ? settings.model.layers : 1, parts = whole ? settings.micro_batches : 1;
  // In doubles: the product of settings that are each allowed can be larger than any integer.
  const double steps = static_cast<double>(layers) * static_cast<double>(parts) * settings.tp *
                       (kStepsOfALayer + kStepsOfAChunk * (settings.overlap_chunks - 1));
  if (steps <= static_cast<double>(kMostPlannedSteps)) return;
  throw request_error(fmt::format(
      "the plan of {} × {} × {} × {} would have about {:.2g} steps on all ranks, and a lesson plans at most "
      "{}: "
      "choose fewer micro_batches, layers, ranks or overlap_chunks",
      counted(layers, "layer"), counted(parts, "micro-batch", "micro-batches"), counted(settings.tp, "rank"),
      counted(settings.overlap_chunks, "chunk"), steps, grouped_text(kMostPlannedSteps)));
}

void refuse_long_run(const Plan& plan, int64_t steps) {
  const Settings& settings = plan.program.settings;
  const auto flops = static_cast<double>(model_flops(plan));
  if (flops > kMostLessonFlops)
    throw request_error(
        fmt::format("one pass of {} at batch {} × sequence {} is {:.1e} FLOPs, too many to run in a lesson "
                    "({:.0e}): choose a smaller "
                    "model, batch or seq, or ask for what a plan can tell",
                    settings.model.title, settings.batch, settings.seq, flops, kMostLessonFlops));
  if (const double all = flops * static_cast<double>(steps); all > kMostTrainingFlops)
    throw request_error(fmt::format(
        "{} training steps of {} at batch {} × sequence {} are {:.1e} FLOPs, too many for a lesson "
        "({:.0e}): choose at most {} steps, or a smaller model, batch or seq",
        steps, settings.model.title, settings.batch, settings.seq, all, kMostTrainingFlops,
        static_cast<int64_t>(kMostTrainingFlops / flops)));
  double late = 0;
  for (const PlannedDelay& delay : plan.delays) late += delay.seconds;
  if (late > kMostLessonDelaySeconds)
    throw request_error(
        fmt::format("the delays of this run are {:.3g} s together, and a lesson waits for at most {:.0f} s: "
                    "choose fewer milliseconds in `delays`",
                    late, kMostLessonDelaySeconds));
}

}  // namespace shardlens
