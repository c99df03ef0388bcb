#include "ui/plan/measured.h"

#include "engine/base/clock_step.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {

double clock_step_of(const Result* result) {
  return result != nullptr ? result->clock_step : clock_step_seconds();
}

std::string measured_text(double seconds, double clock_step) {
  return seconds < clock_step ? "< " + format_tick(clock_step) : format_seconds(seconds);
}

}  // namespace shardlens::ui
