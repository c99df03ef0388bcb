// Computes prices and refuses.
#include "engine/lesson/price.h"

#include <fmt/format.h>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/config/validate.h"
#include "engine/planner/planner.h"
#include "engine/planner/program_size.h"
#include "engine/runtime/plan.h"

namespace shardlens {

void refuse_large_plan(const Settings& settings) {
  validate(settings);
  const bool whole = settings.block == Block::Model;
  const int64_t steps =
      whole ? expected_steps(settings, plan_program) : std::ssize(plan_program(settings).steps);
  if (steps * settings.tp <= kMostPlannedSteps) return;
  throw request_error(
      fmt::format("the plan of {} in {} would have about {} steps on each of {}, and a lesson plans at most "
                  "{} in all: choose "
                  "fewer micro_batches, layers, overlap_chunks or a smaller tp",
                  counted(whole ? settings.model.layers : 1, "layer"),
                  counted(whole ? settings.micro_batches : 1, "micro-batch", "micro-batches"),
                  grouped_text(steps), counted(settings.tp, "rank"), grouped_text(kMostPlannedSteps)));
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
