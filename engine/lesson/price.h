// What a lesson may ask for. Its reader waits for every plan and run, and whoever wrote the file may have
// meant another machine. So a price is computed first, from the settings or the plan, and what is too dear is
// refused with what would work.
#pragma once

#include <cstdint>

#include "engine/runtime/snapshot.h"

namespace shardlens {

inline constexpr int64_t kMostLessonSteps = 200;    ///< of a training
inline constexpr int64_t kSceneTrainingSteps = 20;  ///< of a training whose scene does not state how many
/// Of a plan, on all ranks of a replica together: about a second.
inline constexpr int64_t kMostPlannedSteps = 600'000;
inline constexpr double kMostLessonFlops = 4e11;      ///< of one pass: some seconds on two cores
inline constexpr double kMostTrainingFlops = 4e12;    ///< of all steps of a training: about a minute
inline constexpr double kMostLessonDelaySeconds = 5;  ///< of all delays of a run together

/// Throws a request Error if planning these settings takes too long. Plans nothing.
void refuse_large_plan(const Settings& settings);

/// Throws a request Error if one pass of the plan, or `steps` training steps of it, take too long.
void refuse_long_run(const Plan& plan, int64_t steps = 0);

}  // namespace shardlens
