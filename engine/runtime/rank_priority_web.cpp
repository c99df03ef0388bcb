// In a page the ranks take turns with the window on one thread, so there is no priority to set.
#include "engine/runtime/rank_priority.h"

namespace shardlens {

void set_beside_a_window(bool) {}

void take_rank_priority() {}

}  // namespace shardlens
