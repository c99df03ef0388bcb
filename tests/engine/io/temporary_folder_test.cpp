// Folders that killed programs left are removed; new ones and those of other programs stay.
#include "engine/io/temporary_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "engine/io/user_folder.h"
#include "tests/engine/few_files.h"
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
    const std::string outer = fs::path(folder.path()).parent_path();
    if (::write(made[1], outer.data(), outer.size()) < 0) _exit(1);
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

// A person's folder may have any name.
TEST_F(Temporary, WhatDoesNotCarryOurMarkStays) {
  const std::string slides = path("shardlens-slides"), empty = path("shardlens-photos"),
                    file = write("shardlens-ghijkl", "a file"), marked = path("shardlens-thesis"),
                    linked = path("shardlens-linked");
  for (const std::string& folder : {slides, empty, marked, linked}) fs::create_directory(folder);
  write("shardlens-slides/talk.txt", "mine");
  write(std::string("shardlens-thesis/") + TemporaryFolder::kOwnMark, "a file of that name");
  fs::create_directory_symlink(slides, linked + "/" + TemporaryFolder::kOwnMark);
  for (const std::string& kept : {slides, empty, file, marked, linked})
    put_back(kept, std::chrono::minutes(5));
  look();
  for (const std::string& kept : {slides, empty, file, marked, linked}) EXPECT_TRUE(fs::exists(kept)) << kept;
  EXPECT_EQ(contents("shardlens-slides/talk.txt"), "mine");
}

TEST_F(Temporary, OnlyWhatIsInTheMarkIsRemoved) {
  const std::string left = path("shardlens-abcdef");
  fs::create_directories(left + "/" + TemporaryFolder::kOwnMark + "/tokens");
  look();
  EXPECT_TRUE(fs::exists(left + "/" + TemporaryFolder::kOwnMark)) << "it may be being made";
  write("shardlens-abcdef/talk.txt", "mine");
  put_back(left, std::chrono::minutes(5));
  look();
  EXPECT_FALSE(fs::exists(left + "/" + TemporaryFolder::kOwnMark)) << "nobody holds it, and it is old";
  EXPECT_EQ(contents("shardlens-abcdef/talk.txt"), "mine");
}

// Otherwise the next program would take it for one that a killed program left.
TEST_F(Temporary, WithoutALockItIsNotUsed) {
  if (testing::kSanitizerNeedsFiles) GTEST_SKIP() << testing::kWhyFilesAreNeeded;
  const testing::FewFiles none(0);
  EXPECT_NE(error_of(look).find("Too many open files"), std::string::npos);
  EXPECT_NE(error_of(look).find("set TMPDIR"), std::string::npos);
}

TEST_F(Temporary, AnEmptyVariableIsAsOneThatIsNotSet) {
  EXPECT_EQ(temporary_folder(), folder_);
  setenv("TMPDIR", "", 1);
  EXPECT_EQ(temporary_folder(), "/tmp");
  setenv("TMPDIR", path("nowhere").c_str(), 1);
  EXPECT_NE(error_of([] { temporary_folder(); }).find(path("nowhere") + ": set TMPDIR"), std::string::npos);
}

// Anybody may write into the folder for temporary files.
TEST_F(Temporary, APrivateFolderThatSomebodyElseMadeIsNotTrusted) {
  const fs::path made = private_folder();
  EXPECT_EQ(fs::status(made).permissions(), fs::perms::owner_all);
  EXPECT_EQ(private_folder(), made);
  const auto refused = [] { return error_of([] { private_folder(); }); };
  fs::permissions(made, fs::perms::all);
  EXPECT_NE(refused().find(made.string() + " is not used"), std::string::npos);
  fs::rename(made, path("planted"));
  fs::permissions(path("planted"), fs::perms::owner_all);
  fs::create_directory_symlink(path("planted"), made);
  EXPECT_NE(refused().find("set HOME"), std::string::npos);
  fs::remove(made);
  std::ofstream(made) << "a file";
  EXPECT_NE(refused().find("set HOME"), std::string::npos);
  if (geteuid() != 0) return;
  fs::remove(made);
  fs::create_directory(made, path("planted"));
  ASSERT_EQ(chown(made.c_str(), 65534, 65534), 0);
  EXPECT_NE(refused().find("set HOME"), std::string::npos);
}

}  // namespace temporary_folder_test
}  // namespace shardlens
