// A file appears complete or not at all.
#include "engine/io/atomic_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/engine/full_disk.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace atomic_file_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using AtomicFileTest = TestFolder;

TEST_F(AtomicFileTest, CommitPutsTheWholeFileInPlace) {
  write("x", "old");
  {
    AtomicFile file(path("x"), kOwnFile);
    file.write("new ", 4);
    file.write("text", 4);
    EXPECT_EQ(contents("x"), "old");
    file.commit();
  }
  EXPECT_EQ(contents("x"), "new text");
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(AtomicFileTest, WithoutCommitNothingIsLeft) {
  write("x", "old");
  {
    AtomicFile file(path("x"), kOwnFile);
    file.write("new", 3);
  }
  EXPECT_EQ(contents("x"), "old");
  EXPECT_EQ(files_in_folder(), 1u);
}

// A process that ends in the middle tidies up nothing.
TEST_F(AtomicFileTest, AKillLeavesNothingBehind) {
  const int nameless = open(path("").c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (nameless < 0) GTEST_SKIP() << "this file system has no files without a name";
  close(nameless);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    AtomicFile file(path("x"), kOwnFile);
    file.write("new", 3);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(files_in_folder(), 0u);
}

TEST_F(AtomicFileTest, NothingIsMovedOverADeviceOrAPipe) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/null", path("null"));
  for (const char* name : {"pipe", "null"}) {
    try {
      write_file_atomically(path(name), kOwnFile, "text");
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Request);
      EXPECT_THAT(error.what(), HasSubstr("a device or a pipe"));
    }
  }
  EXPECT_TRUE(fs::is_fifo(path("pipe")) && fs::is_symlink(path("null")));
}

TEST_F(AtomicFileTest, ALinkStaysAndWhatItLeadsToIsWritten) {
  fs::create_directory(path("other"));
  write("other/x", "old");
  fs::create_symlink("other/x", path("link"));
  write_file_atomically(path("link"), kOwnFile, "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents("other/x"), "new");
  fs::create_symlink("nowhere", path("dangling"));
  write_file_atomically(path("dangling"), kOwnFile, "new");
  EXPECT_EQ(contents("dangling"), "new");
}

// The limit on a file's size stands for a full disk: the system refuses the write in the middle.
TEST_F(AtomicFileTest, ARefusedWriteLeavesTheOldFile) {
  write("x", "old");
  std::string message;
  ErrorKind kind = ErrorKind::Request;
  try {
    const testing::FullDisk disk(100'000);
    write_file_atomically(path("x"), kOwnFile, std::string(1'000'000, 'x'));
  } catch (const Error& error) {
    message = error.what();
    kind = error.kind();
  }
  EXPECT_THAT(message, HasSubstr("cannot write " + path("x")));
  EXPECT_EQ(kind, ErrorKind::Run);
  EXPECT_EQ(contents("x"), "old");
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(AtomicFileTest, ImpossiblePlacesAreRefused) {
  EXPECT_THAT(error_of([&] { AtomicFile file(path("absent/x"), kOwnFile); }),
              HasSubstr("No such file or directory; name a folder that exists"));
  EXPECT_THAT(error_of([&] { AtomicFile file(folder_.string(), kOwnFile); }), HasSubstr("it is a folder"));
}

}  // namespace atomic_file_test
}  // namespace shardlens
