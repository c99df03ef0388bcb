// A page computes on one core, which the browser chooses.
#include "engine/device/cpu/cores.h"

#include "engine/device/device.h"

namespace shardlens::cpu {

std::vector<int> usable_cores() {
  return {0};
}

void bind_to_core(int) {}

int current_core() {
  return -1;
}

void move_off_cores(std::span<const int>) {}

}  // namespace shardlens::cpu

namespace shardlens {

int available_cores() {
  return 1;
}

}  // namespace shardlens
