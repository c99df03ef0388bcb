// A stopped process is found among the processes of one parent.
#include "engine/comm/siblings.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace shardlens {
namespace siblings_test {

// A child that sleeps, as mpirun would start it; -1: without a rank.
pid_t start_child(int rank) {
  std::string variable = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
  std::string program = "sleep", seconds = "100";
  char* arguments[] = {program.data(), seconds.data(), nullptr};
  char* environment[] = {variable.data(), nullptr};
  char* nothing[] = {nullptr};
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, "/bin/sleep", nullptr, nullptr, arguments, rank < 0 ? nothing : environment),
            0);
  return child;
}

// Returns when it stands still.
void stop(pid_t child) {
  ASSERT_EQ(kill(child, SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
}

TEST(Siblings, ThoseThatStandStillAreNamedByTheirRank) {
  const pid_t runs = start_child(0), stands = start_child(13), other = start_child(2),
              no_rank = start_child(-1);
  EXPECT_TRUE(stopped_children(getpid()).empty());
  for (const pid_t child : {stands, other, no_rank}) stop(child);
  const std::vector<StoppedProcess> found = stopped_children(getpid());
  EXPECT_TRUE(stopped_children(runs).empty()) << "those of another parent";
  for (const pid_t child : {runs, stands, other, no_rank}) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].index, 2);
  EXPECT_EQ(found[0].pid, other);
  EXPECT_EQ(found[1].index, 13);
  EXPECT_EQ(found[1].pid, stands);
}

}  // namespace siblings_test
}  // namespace shardlens
