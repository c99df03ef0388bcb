#include "engine/base/clock_step.h"

namespace shardlens {

double clock_step_seconds() {
  return 0;
}

}  // namespace shardlens
