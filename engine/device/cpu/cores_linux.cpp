// Reads and sets the cores that a thread may run on, with system calls.
#include "engine/device/cpu/cores.h"

#include <pthread.h>
#include <sched.h>

#include "engine/device/device.h"

namespace shardlens::cpu {

std::vector<int> usable_cores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {0};
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  return cores;
}

void bind_to_core(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    return;
  }
}

int current_core() {
  return sched_getcpu();
}

void move_off_cores(std::span<const int> taken) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t others = allowed;
  for (const int core : taken)
    if (core >= 0 && core < CPU_SETSIZE) CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0) return;
  pthread_setaffinity_np(pthread_self(), sizeof(others), &others);
  pthread_setaffinity_np(pthread_self(), sizeof(allowed), &allowed);
}

}  // namespace shardlens::cpu

namespace shardlens {

int available_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  const int count = CPU_COUNT(&cores);
  return count > 0 ? count : 1;
}

}  // namespace shardlens
