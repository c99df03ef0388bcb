// A process that ends while its files are read is an answer, not an error.
#include "engine/io/proc_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/engine/comm/child_process.h"

namespace shardlens {
namespace proc_file_test {

TEST(ProcFile, ARunningProcessIsRead) {
  const auto stat = read_proc_file("/proc/self/stat");
  ASSERT_TRUE(stat.has_value());
  EXPECT_TRUE(stat->starts_with(std::to_string(getpid()) + " ("));
  EXPECT_EQ(read_proc_file("/proc/self/nothing"), std::nullopt);
}

// A read then fails with ESRCH ("No such process").
TEST(ProcFile, AProcessThatEndsAfterItsFileWasOpenedIsGone) {
  ChildProcess child;
  const std::string folder = "/proc/" + std::to_string(child.pid());
  const int stat = open((folder + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  const int environment = open((folder + "/environ").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(stat, 0);
  child.end();
  EXPECT_EQ(rest_of_proc_file(stat), std::nullopt);
  EXPECT_EQ(rest_of_proc_file(environment).value_or(""), "");
  EXPECT_EQ(read_proc_file(folder + "/stat"), std::nullopt);
  close(stat);
  close(environment);
}

}  // namespace proc_file_test
}  // namespace shardlens
