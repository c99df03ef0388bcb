// An ended process is recognised, even before its parent has waited for it. A stopped process does not count
// as ended.
#include "engine/comm/departed.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "engine/base/clock.h"
#include "tests/engine/comm/child_process.h"

namespace shardlens {
namespace departed_test {

bool comes_true(const std::function<bool()>& condition) {
  const double limit = now_seconds() + 30;
  while (!condition() && now_seconds() < limit) usleep(1000);
  return condition();
}

TEST(Departed, AProcessGoesOnUntilItHasEnded) {
  ChildProcess child;
  ASSERT_NE(child.identity().pid, 0);
  EXPECT_TRUE(goes_on(child.identity()));
  EXPECT_TRUE(goes_on(own_identity()));
  // Another one that once had its number.
  EXPECT_FALSE(goes_on({child.identity().pid, child.identity().started + 1}));
  EXPECT_FALSE(goes_on({}));
  ASSERT_EQ(kill(child.pid(), SIGSTOP), 0);
  ASSERT_EQ(waitpid(child.pid(), nullptr, WUNTRACED), child.pid());
  EXPECT_TRUE(goes_on(child.identity()));
  ASSERT_EQ(kill(child.pid(), SIGKILL), 0);
  EXPECT_TRUE(comes_true([&] { return !goes_on(child.identity()); })) << "nobody has asked for its end";
  child.end();
  EXPECT_FALSE(goes_on(child.identity()));
}

TEST(Departed, ThoseThatAreWatchedHaveEndedWhenTheyHave) {
  ChildProcess first, second;
  DepartedProcesses departed;
  departed.watch(3, first.identity());
  departed.watch(5, own_identity());
  second.end();
  departed.watch(7, second.identity());  // who is not there now was never seen
  for (const int process : {3, 5, 7, 9}) EXPECT_FALSE(departed.has_ended(process)) << process;
  first.end();
  EXPECT_TRUE(comes_true([&] { return departed.has_ended(3); }));
  for (const int process : {5, 7, 9}) EXPECT_FALSE(departed.has_ended(process)) << process;
}

}  // namespace departed_test
}  // namespace shardlens
