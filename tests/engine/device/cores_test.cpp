// A thread moves off a core, and may run on every core afterwards.
#include "engine/device/cpu/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>
#include <vector>

namespace shardlens::cpu {
namespace cores_test {

std::vector<int> allowed_cores() {
  cpu_set_t allowed;
  EXPECT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  return cores;
}

// Where it is moved to, the kernel may move it on from before anybody looks: so one round of many must show
// it elsewhere.
TEST(Cores, AThreadMovesOffThoseThatAreTaken) {
  std::thread([] {
    const std::vector<int> allowed = allowed_cores();
    if (allowed.size() < 2) GTEST_SKIP() << "skipped: this process has one core";
    int moved = 0;
    for (int round = 0; round < 100; ++round) {
      const int core = current_core();
      move_off_cores({&core, 1});
      moved += current_core() != core;
      ASSERT_EQ(allowed_cores(), allowed);
    }
    EXPECT_GT(moved, 0);
  }).join();
}

TEST(Cores, WithoutAnotherItStaysAsItWas) {
  std::thread([] {
    bind_to_core(0);
    const std::vector<int> only = allowed_cores();
    ASSERT_EQ(only.size(), 1u);
    move_off_cores(only);
    EXPECT_EQ(current_core(), only.front());
    EXPECT_EQ(allowed_cores(), only);
  }).join();
}

}  // namespace cores_test
}  // namespace shardlens::cpu
