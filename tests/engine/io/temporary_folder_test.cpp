// Folders that killed programs left are removed; new ones and those of other programs stay.
#include "engine/io/temporary_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace temporary_folder_test {

namespace fs = std::filesystem;

class Temporary : public TestFolder {
 protected:
  void SetUp() override {
    TestFolder::SetUp();
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    TestFolder::TearDown();
  }

  /// Whoever makes one looks for those left behind.
  static void look() { const TemporaryFolder folder; }

  void put_back(const std::string& folder, std::chrono::minutes ago) const {
    fs::last_write_time(folder, fs::file_time_type::clock::now() - ago);
  }
};

TEST_F(Temporary, GoesWithAllThatIsInIt) {
  {
    const TemporaryFolder folder({"a"});
    std::ofstream(folder.path_of("a")) << "a";
    fs::create_directories(folder.path_of("deep/er"));
    EXPECT_EQ(files_in_folder(), 1u);
  }
  EXPECT_EQ(files_in_folder(), 0u);
}

TEST_F(Temporary, WhatAKilledProgramLeftIsRemovedByTheNext) {
  int made[2];
  ASSERT_EQ(pipe(made), 0);
  const pid_t other = fork();
  if (other == 0) {
    const TemporaryFolder folder;
    std::ofstream(folder.path_of("left")) << "left";
    if (::write(made[1], folder.path().data(), folder.path().size()) < 0) _exit(1);
    close(made[1]);
    while (true) pause();
  }
  close(made[1]);
  std::string left(folder_.string().size() + 17, ' ');
  ASSERT_EQ(read(made[0], left.data(), left.size()), static_cast<ssize_t>(left.size()));
  close(made[0]);
  put_back(left, std::chrono::minutes(5));
  look();
  EXPECT_TRUE(fs::exists(left)) << "its program is alive";
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  look();
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(Temporary, WhatIsNewOrIsNotOursStays) {
  const std::string being_made = path("shardlens-abcdef"), named = path("shardlens-mine"),
                    file = write("shardlens-ghijkl", "a file");
  for (const std::string& folder : {being_made, named}) fs::create_directory(folder);
  put_back(named, std::chrono::minutes(5));
  put_back(file, std::chrono::minutes(5));
  look();
  for (const std::string& kept : {being_made, named, file}) EXPECT_TRUE(fs::exists(kept)) << kept;
  put_back(being_made, std::chrono::minutes(5));
  look();
  EXPECT_FALSE(fs::exists(being_made)) << "nobody holds it, and it is old";
}

}  // namespace temporary_folder_test
}  // namespace shardlens
