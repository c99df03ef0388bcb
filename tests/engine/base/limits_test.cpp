// The least limit counts, wherever it is set: on made-up machines, in folders that look like /proc and /sys.
#include "engine/base/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace shardlens {
namespace limits_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

class Limits : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = (fs::path(::testing::TempDir()) / ("limits_" + std::to_string(getpid()))).string();
    fs::remove_all(root_);
    write("/proc/meminfo",
          "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\n");
    write("/proc/self/status",
          "Name:\tcli\nUid:\t1000\t1000\t1000\t1000\nVmSize:\t  524288 kB\nVmData:\t  131072 kB\n"
          "VmRSS:\t   65536 kB\n");
    limits("unlimited", "unlimited", "96365");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void limits(const std::string& data, const std::string& addresses, const std::string& processes) const {
    write("/proc/self/limits",
          "Limit                     Soft Limit           Hard Limit           Units     \n"
          "Max data size             " +
              data +
              "            unlimited            bytes     \n"
              "Max processes             " +
              processes +
              "                96365                processes \n"
              "Max address space         " +
              addresses + "            unlimited            bytes     \n");
  }
  // A machine with version 2, and this process in /job/step.
  void version_2() const {
    write("/proc/self/cgroup", "0::/job/step\n");
    write("/proc/self/mountinfo",
          "31 23 0:28 / /sys rw - sysfs sysfs rw\n"
          "35 31 0:32 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw\n");
    for (const char* group : {"", "/job", "/job/step"}) {
      write(std::string("/sys/fs/cgroup") + group + "/memory.max", "max\n");
      write(std::string("/sys/fs/cgroup") + group + "/memory.current", "1048576\n");
    }
  }
  void expect(int64_t all, int64_t left, const std::string& limit) const {
    EXPECT_EQ(memory_in_all(root_).bytes, all);
    EXPECT_EQ(memory_left(root_).bytes, left);
    EXPECT_EQ(memory_left(root_).limit, limit);
  }

  std::string root_;
};

TEST_F(Limits, WithoutAnyItIsTheMachinesMemory) {
  expect(16'384 * kMiB, 8'192 * kMiB, "");
  version_2();
  expect(16'384 * kMiB, 8'192 * kMiB, "");
}

TEST_F(Limits, OfTheProcessesOwnGroup) {
  version_2();
  write("/sys/fs/cgroup/job/step/memory.max", "1073741824\n");
  expect(1024 * kMiB, 1023 * kMiB, "control group /job/step");
}

TEST_F(Limits, OfAGroupAbove) {
  version_2();
  write("/sys/fs/cgroup/job/step/memory.max", "1073741824\n");
  write("/sys/fs/cgroup/job/memory.max", "536870912\n");
  expect(512 * kMiB, 511 * kMiB, "control group /job");
  // The group with the smaller limit is not always the tighter one: others of its processes use it.
  write("/sys/fs/cgroup/job/step/memory.current", "1073741824\n");
  expect(512 * kMiB, 0, "control group /job/step");
}

// What only caches files is no memory that is gone.
TEST_F(Limits, FilesThatWereReadAreReclaimed) {
  version_2();
  write("/sys/fs/cgroup/job/memory.max", "1073741824\n");
  write("/sys/fs/cgroup/job/memory.current", "1073741824\n");
  write("/sys/fs/cgroup/job/memory.stat", "anon 1\nfile 2\nactive_file 3\ninactive_file 268435456\n");
  expect(1024 * kMiB, 256 * kMiB, "control group /job");
}

TEST_F(Limits, OfVersion1) {
  write("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/a b/run\n0::/\n");
  write("/proc/self/mountinfo",
        "35 31 0:32 / /sys/fs/cgroup/cpu\\040memory rw - cgroup cgroup rw,cpu,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  const std::string tree = "/sys/fs/cgroup/cpu memory";
  write(tree + "/memory.limit_in_bytes", "9223372036854771712\n");
  write(tree + "/a b/memory.limit_in_bytes", "2147483648\n");
  write(tree + "/a b/memory.usage_in_bytes", "1073741824\n");
  write(tree + "/a b/memory.stat", "inactive_file 1\ntotal_inactive_file 536870912\n");
  write(tree + "/a b/run/memory.limit_in_bytes", "9223372036854771712\n");
  expect(2048 * kMiB, 1536 * kMiB, "control group /a b");
}

// There a mount shows only the container's own group, under the name that the host gives it.
TEST_F(Limits, InAContainer) {
  write("/proc/self/cgroup", "4:memory:/docker/ab/inner\n");
  write("/proc/self/mountinfo", "35 31 0:32 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n");
  expect(1024 * kMiB, 1024 * kMiB, "control group /docker/ab");
  write("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "104857600\n");
  expect(100 * kMiB, 100 * kMiB, "control group /docker/ab/inner");
  write("/proc/self/cgroup", "4:memory:/elsewhere\n");  // of a process that was moved out of what is seen
  expect(1024 * kMiB, 1024 * kMiB, "control group /docker/ab");
}

// A run needs address space beside its bytes: stacks, and what malloc reserves.
TEST_F(Limits, OfTheProcess) {
  limits("unlimited", "2147483648", "96365");
  expect(2048 * kMiB, (2048 - 512 - 256) * kMiB, "ulimit -v");
  EXPECT_EQ(memory_text(root_), "this process holds 512 MiB, and may have 2.00 GiB (ulimit -v)");
  limits("1073741824", "2147483648", "96365");
  expect(1024 * kMiB, (1024 - 128 - 256) * kMiB, "ulimit -d");
  EXPECT_EQ(memory_text(root_), "this process holds 64.0 MiB, and may have 1.00 GiB (ulimit -d)");
}

TEST_F(Limits, OnThreads) {
  version_2();
  write("/proc/sys/kernel/threads-max", "192730\n");
  limits("unlimited", "unlimited", "3");
  EXPECT_EQ(thread_limits_text(root_), "3 processes and threads of this user (ulimit -u)");
  write("/sys/fs/cgroup/job/pids.max", "12\n");
  EXPECT_THAT(thread_limits_text(root_), HasSubstr("(ulimit -u), 12 of control group /job (pids.max)"));
  write("/proc/self/status", "Uid:\t0\t0\t0\t0\n");  // root has no limit of its own
  EXPECT_EQ(thread_limits_text(root_), "12 of control group /job (pids.max)");
  write("/sys/fs/cgroup/job/pids.max", "max\n");
  EXPECT_EQ(thread_limits_text(root_), "192,730 of the whole machine (/proc/sys/kernel/threads-max)");
}

TEST_F(Limits, OfThisMachineAreThere) {
  EXPECT_GT(memory_in_all().bytes, 0);
  EXPECT_GT(memory_left().bytes, 0);
  EXPECT_LE(memory_left().bytes, memory_in_all().bytes);
  EXPECT_FALSE(thread_limits_text().empty());
}

}  // namespace limits_test
}  // namespace shardlens
